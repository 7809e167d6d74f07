// Each way to run more than one cell runs those cells and no others, and a failure leads back to its line.

import type { Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

/** Adds its letter to those that ran before it in this kernel, and prints them all. */
const says = (letter: string): string => `ran = globals().get("ran", "") + "${letter}"\nprint("order", ran)`;

const rows = (page: Page) => page.locator("article.cell");

/** What every cell printed, without the word before it; null where it printed nothing. */
const printed = (page: Page): Promise<(string | null)[]> =>
  rows(page).evaluateAll((cells) => cells.map((cell) => /order (\w+)/.exec(cell.textContent ?? "")?.[1] ?? null));

const selected = (page: Page): Promise<string> => page.evaluate(() => String(getSelection()));

async function palette(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search commands and cells" }).fill(words);
}

test("run above, run below, run all and restart and run all run those cells, in order, from key, menu and palette", async ({
  open,
}) => {
  const { page } = await open(["a", "b", "c", "d"].map(says));
  await rows(page).nth(2).locator(".cell__gutter").click();
  await page.keyboard.press("Control+F8");
  await expect.poll(() => printed(page), "all above, and not the cell itself").toEqual(["a", "ab", null, null]);
  await expect(rows(page).nth(1)).toHaveClass(/is-done/);

  await page.getByRole("button", { name: "More cell actions" }).click();
  await page.getByRole("menuitem", { name: "Run this and all below" }).click();
  await expect.poll(() => printed(page), "the cell itself, and all below").toEqual(["a", "ab", "abc", "abcd"]);
  await expect(rows(page).nth(3)).toHaveClass(/is-done/);

  await palette(page, "cells run all");
  const results = page.getByRole("listbox", { name: "Results" });
  const commands = results.getByRole("group", { name: "Commands" }).getByRole("option");
  await expect(commands, "every word has to stand in the name").toHaveText([/^\s*Run all cells/, /^\s*Restart and run all cells/]);
  await expect(commands.first()).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("Enter");
  await expect(results).toHaveCount(0);
  await expect.poll(() => printed(page)).toEqual(["abcda", "abcdab", "abcdabc", "abcdabcd"]);
  await expect(rows(page).nth(3)).toHaveClass(/is-done/);

  await palette(page, "run all");
  await page.keyboard.press("ArrowDown");
  await expect(results.locator('[aria-selected="true"]')).not.toHaveText(/^\s*Run all cells/);
  await page.keyboard.press("Escape");
  await palette(page, "restart and run");
  await page.keyboard.press("Enter");
  const question = page.getByRole("alertdialog");
  await expect(question).toContainText("You lose all variables");
  await question.getByRole("button", { name: "Restart and run all" }).click();
  await expect.poll(() => printed(page), "nothing that ran before the restart is known").toEqual(["a", "ab", "abc", "abcd"]);
  await expect(rows(page).locator(".cell__gutter")).toContainText(["[1]", "[2]", "[3]", "[4]"]);
});

test("the palette goes to a cell by its text, and looks for what it does not know in the notebook", async ({ open }) => {
  const { page } = await open(["first = 1", "second = 2", "print('third')"]);
  await rows(page).first().locator(".cell__gutter").click();
  await palette(page, "third");
  await expect(page.getByRole("option")).toHaveText([/cell 3, code/]);
  await page.keyboard.press("Enter");
  await expect(rows(page).nth(2)).toHaveAttribute("aria-current", "true");

  await palette(page, "second third");
  await expect(page.getByText("Nothing matches. Press Enter to search the notebook")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Find", exact: true })).toHaveValue("second third");
});

test("a traceback leads to the line of the cell that failed, also in another cell than the one that ran", async ({ open }) => {
  const { page } = await open(["def share(part):\n    whole = 0\n    return part / whole", "x = 1\nshare(x)"]);
  await rows(page).first().locator(".cell__gutter").click();
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Control+Enter");
  const failed = rows(page).nth(1);
  await expect(failed).toHaveClass(/is-error/);
  const status = page.getByLabel("Status");

  await failed.getByRole("button", { name: "Go to line 3" }).click();
  await expect(status).toContainText("Cell 1 of 2");
  await expect(status).toContainText("Line 3,");
  await expect.poll(() => selected(page), "the line is selected, and typing goes there").toBe("    return part / whole");

  await failed.getByRole("button", { name: /^Cell In\s?\[2\], line 2/ }).click();
  await expect(status).toContainText("Cell 2 of 2");
  await expect.poll(() => selected(page)).toBe("share(x)");
});
