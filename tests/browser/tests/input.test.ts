// Code that asks: the answer stays where it was given, a password does not.

import { readFile } from "node:fs/promises";

import { expect, test } from "../src/test.ts";

const ASKS = "import getpass\nname = input('name? ')\nkey = getpass.getpass('key: ')\nprint('hello', name, len(key))";

test("an answer stays in the output, also after the page was opened anew and in the file", async ({ open }) => {
  const { page, path } = await open([ASKS]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");

  await page.getByLabel("name? ").fill("Ada");
  await page.keyboard.press("Enter");
  await expect(cell.locator(".cell__out")).toContainText("name? Ada");
  const key = page.getByLabel("key: ");
  await expect(key).toHaveAttribute("type", "password");
  await page.reload();
  await expect(cell.locator(".cell__out"), "the run goes on while the page is opened again").toContainText("name? Ada");
  await key.fill("hunter2");
  await page.keyboard.press("Enter");
  await expect(cell.locator(".cell__out")).toHaveText(/name\? Ada\s*key: ········\s*hello Ada 7/);

  await page.keyboard.press("Control+s");
  await expect(page.getByLabel("Status")).toContainText("Saved");
  const file = await readFile(path, "utf8");
  expect(file).toContain("name? Ada");
  expect(file).not.toContain("hunter2");
});
