// Two pages on one notebook: whoever does something, both end with the same cells, the same text and the same outputs.

import type { Page } from "@playwright/test";

import { WebMode } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

const cells = (page: Page) => page.locator("article.cell:visible");

/** What a person sees of the document: each cell's kind, number, text, outputs and state. */
const seen = (page: Page): Promise<readonly unknown[]> =>
  cells(page).evaluateAll((rows) =>
    rows.map((row) => {
      const lines = [...row.querySelectorAll(".cm-line")].map((line) => line.textContent ?? "");
      return {
        key: (row as HTMLElement).dataset["key"],
        text: lines.length > 0 ? lines.join("\n") : (row.querySelector(".src, .md")?.textContent ?? ""),
        outputs: [...row.querySelectorAll(".out")].map((output) => output.textContent?.trim()),
        state: [...row.classList].filter((name) => /^is-(?:new|done|error|edited|running|queued)$/.test(name)),
        number: /\[\d*\s*\]/.exec(row.querySelector(".cell__gutter")?.textContent ?? "")?.[0],
      };
    }),
  );

test("two pages on one notebook stay equal in cells, text and outputs, whoever edits, moves and runs", async ({
  open,
  home,
  browser,
}) => {
  const { page: one, path } = await open(["a = 1", "print('b', a)", "c = 3"]);
  const web = await WebMode.start(home, path);
  const context = await browser.newContext();
  const two = await context.newPage();
  await two.goto(web.url);
  await expect(cells(two)).toHaveCount(3);
  const equal = async (why: string): Promise<void> => {
    await expect(async () => expect(await seen(two), why).toEqual(await seen(one))).toPass({ timeout: 20_000 });
  };

  await cells(one).nth(0).locator(".cell__gutter").click();
  await one.keyboard.press("Shift+Enter");
  await one.keyboard.press("Control+Enter");
  await expect(cells(two).nth(1), "what one page ran, the other shows").toContainText("b 1");
  await equal("after a run");

  await cells(one).nth(2).locator(".src").click();
  await cells(two).nth(2).locator(".src").click();
  await one.keyboard.press("Control+Home");
  await two.keyboard.press("Control+End");
  const [left, right] = ["# typed by the one\n", "  # typed by the other at the same time"];
  await Promise.all([one.keyboard.type(left, { delay: 15 }), two.keyboard.type(right, { delay: 15 })]);
  await equal("after both typed in one cell");
  const text = (await cells(one).nth(2).locator(".cm-line").allTextContents()).join("\n");
  expect(text, "nothing that was typed is lost").toBe(`${left}c = 3${right}`);

  for (const page of [one, two]) {
    // The first press may close a list of completions.
    await expect(async () => {
      await page.keyboard.press("Escape");
      await expect(page.getByLabel("Status")).toContainText("Command", { timeout: 500 });
    }).toPass();
  }
  await cells(two).nth(0).locator(".cell__gutter").click();
  await Promise.all([two.keyboard.press("Alt+ArrowDown"), one.keyboard.press("b")]);
  await expect(cells(one)).toHaveCount(4);
  await equal("after one moved a cell while the other inserted one");

  await cells(one).first().locator(".cell__gutter").click();
  await one.keyboard.press("d");
  await one.keyboard.press("d");
  await expect(cells(two)).toHaveCount(3);
  await cells(two).first().locator(".cell__gutter").click();
  await two.keyboard.press("z");
  await expect(cells(one), "one page takes back what the other did").toHaveCount(4);
  await equal("after a deletion and its undo");

  await cells(two).first().locator(".cell__gutter").click();
  await two.keyboard.press("Control+Shift+Enter");
  await expect(one.locator("article.cell.is-queued, article.cell.is-running")).toHaveCount(0);
  await equal("after the other page ran all");
  await one.reload();
  await expect(cells(one)).toHaveCount(4);
  await equal("after one page was opened anew");
  await context.close();
  await web.stop();
});
