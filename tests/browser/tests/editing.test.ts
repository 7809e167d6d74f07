// The keys of edit mode, with a kernel to ask.

import type { Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

const rows = (page: Page) => page.locator("article.cell");

/** The text of a cell, line by line, as its editor or its still text shows it. */
const text = (page: Page, index: number): Promise<string> =>
  rows(page)
    .nth(index)
    .evaluate((cell) => {
      const lines = [...cell.querySelectorAll(".cm-line")].map((line) => line.textContent ?? "");
      return lines.length > 0 ? lines.join("\n") : (cell.querySelector(".src")?.textContent ?? "");
    });

async function enter(page: Page, index: number): Promise<void> {
  await rows(page).nth(index).locator(".src").click();
  await expect(rows(page).nth(index).locator(".cm-content")).toBeFocused();
  await page.keyboard.press("Control+Home");
}

test("lines are commented and moved, words changed at several places at once, and a cell is split at the caret", async ({
  open,
}) => {
  const { page } = await open(["one = 1\ntwo = 2\none + one", "nothing = 0"]);
  await enter(page, 0);
  await page.keyboard.press("Control+/");
  await expect.poll(() => text(page, 0)).toBe("# one = 1\ntwo = 2\none + one");
  await page.keyboard.press("Control+/");
  await page.keyboard.press("Alt+ArrowDown");
  await expect.poll(() => text(page, 0), "the line moves, and not the cell").toBe("two = 2\none = 1\none + one");
  await page.keyboard.press("Alt+ArrowUp");
  await expect.poll(() => text(page, 0)).toBe("one = 1\ntwo = 2\none + one");

  await page.keyboard.press("Control+Home");
  for (let press = 0; press < 3; press++) await page.keyboard.press("Control+d");
  await page.keyboard.type("half");
  await expect.poll(() => text(page, 0), "each next occurrence has a caret of its own").toBe("half = 1\ntwo = 2\nhalf + half");

  const lines = rows(page).nth(0).locator(".cm-line");
  await lines.nth(0).click({ position: { x: 1, y: 8 } });
  await lines.nth(1).click({ position: { x: 1, y: 8 }, modifiers: ["Control"] });
  await page.keyboard.type("x");
  await expect.poll(() => text(page, 0), "a click with Ctrl adds a caret").toBe("xhalf = 1\nxtwo = 2\nhalf + half");

  await lines.nth(2).click({ position: { x: 1, y: 8 } });
  await page.keyboard.press("Control+Shift+Minus");
  await expect(rows(page)).toHaveCount(3);
  expect(await text(page, 0)).toBe("xhalf = 1\nxtwo = 2");
  expect(await text(page, 1)).toBe("half + half");
  await expect(rows(page).nth(1).locator(".cm-content"), "typing goes on in the lower half").toBeFocused();
  await page.keyboard.type("z");
  await expect.poll(() => text(page, 1)).toBe("zhalf + half");
});

test("a bracket closes itself, and the pair at the caret is marked", async ({ open }) => {
  const { page } = await open([""]);
  await rows(page).nth(0).locator(".src").click();
  await page.keyboard.type("f(g[");
  await expect.poll(() => text(page, 0)).toBe("f(g[])");
  await page.keyboard.type("1])");
  await expect.poll(() => text(page, 0), "typing the closing one steps over it").toBe("f(g[1])");
  const marked = rows(page).nth(0).locator(".cm-matchingBracket");
  await expect(marked).toHaveText(["(", ")"]);
  const around = (bracket: Element): string => getComputedStyle(bracket).boxShadow;
  expect(await marked.first().evaluate(around), "a line around it can be seen").not.toBe("none");
  await page.keyboard.press("Home");
  await expect(marked).toHaveCount(0);
});

test("Shift+Tab shows what the kernel says of a name, and Esc closes it before it leaves the editor", async ({ open }) => {
  const { page } = await open(['def greet(name, loud=False):\n    """Says hello to one person."""', "greet"]);
  await rows(page).first().locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(rows(page).first()).toHaveClass(/is-done/);

  await enter(page, 1);
  await page.keyboard.press("End");
  await page.keyboard.press("Shift+Tab");
  const tooltip = page.locator(".cm-inspect");
  await expect(tooltip).toContainText("greet(name, loud=False)");
  await expect(tooltip).toContainText("Says hello to one person.");
  await page.keyboard.press("Escape");
  await expect(tooltip).toHaveCount(0);
  await expect(rows(page).nth(1)).toHaveClass(/is-edit/);
  await page.keyboard.press("Escape");
  await expect(rows(page).nth(1)).not.toHaveClass(/is-edit/);

  await page.keyboard.press("Enter");
  await expect(rows(page).nth(1).locator(".cm-content")).toBeFocused();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("    ");
  await page.keyboard.press("Shift+Tab");
  await expect.poll(() => text(page, 1), "where there is no name it takes the indentation away").toBe("greet");
});
