// Who gets in: the printed address, once, and nobody else.

import { writeNotebook } from "../src/notebook.ts";
import { WebMode } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

test("the printed address opens one page and cannot be used again", async ({ browser, open }) => {
  const { page, address } = await open(["1 + 1"]);
  await expect(page.locator("article.cell")).toHaveCount(1);
  expect(page.url(), "the token does not stay in the address bar").not.toContain("token");

  const other = await browser.newContext();
  const stranger = await other.newPage();
  await stranger.goto(address);
  await expect(stranger.getByText("This page has no session")).toBeVisible();
  await expect(stranger.locator("article.cell")).toHaveCount(0);
  await other.close();
});

test("a reload keeps the session, and the notebook is as it was", async ({ open }) => {
  const { page } = await open(["1 + 1"]);
  await page.locator("article.cell .cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(page.locator("article.cell .cell__out")).toContainText("2");
  await page.reload();
  await expect(page.locator("article.cell .cell__out")).toContainText("2");
});

test("an address opens the notebook it was printed for, whatever is open and in whichever tab", async ({ context, home, open }) => {
  const { page } = await open(["'the first'"]);
  await expect(page.locator("article.cell")).toContainText("the first");
  const path = await writeNotebook(home.notebooks, "second.ipynb", ["'the second'"]);
  const web = await WebMode.start(home, path);
  const again = await WebMode.start(home, path);
  try {
    const other = await context.newPage();
    await other.goto(web.url);
    await expect(other.locator("article.cell:visible")).toContainText("the second");
    await page.goto(again.url);
    await expect(page.locator("article.cell:visible")).toContainText("the second");
    expect(page.url(), "the token does not stay in the address bar").not.toContain("token");
  } finally {
    await again.stop();
    await web.stop();
  }
});
