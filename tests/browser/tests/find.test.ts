// A hit in an output is brought into view and marked, also where the page does not hold it yet.

import type { Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

const FOLDED = "for number in range(3000):\n    print('needle' if number == 1500 else 'line', number)";
const TABLE =
  "import pandas as pd\npd.set_option('display.max_rows', 100, 'display.max_columns', None, 'display.width', 10000)\n" +
  "pd.DataFrame({f'measurement {c}': ['needle' if (r, c) == (10, 30) else f'{r * c} and a few words more' for r in range(60)] for c in range(40)})";
const HIDDEN = "print('\\n' * 60 + 'needle at the end')";

/** The text that is marked as the current hit, if all of it can be seen. */
const marked = (page: Page): Promise<string | null> =>
  page.evaluate(() => {
    const [range] = CSS.highlights.get("found-current") ?? [];
    if (!(range instanceof Range)) return null;
    const [box, view] = [range.getBoundingClientRect(), document.querySelector(".nb")?.getBoundingClientRect()];
    if (!view || box.height === 0 || box.top < view.top || box.bottom > view.bottom || box.right > view.right) return null;
    const hit = document.elementFromPoint(box.left + 2, box.top + box.height / 2);
    const text = range.startContainer.parentElement?.textContent ?? "";
    return hit?.closest(".cell__out") ? text : null;
  });

test("hits in folded lines, in a wide table that was not fetched yet and in folded outputs are marked", async ({ open }) => {
  const { page } = await open([FOLDED, TABLE, HIDDEN, "1"]);
  await page.locator("article.cell .cell__gutter").first().click();
  for (let cell = 0; cell < 4; cell++) await page.keyboard.press("Shift+Enter");
  await expect(page.locator("article.cell").nth(3)).toHaveClass(/is-done/);
  await page.locator("article.cell .cell__gutter").nth(2).click();
  await page.keyboard.press("o");
  await expect(page.getByText("1 output folded")).toBeVisible();
  await page.reload();
  await expect(page.locator("article.cell").nth(3)).toBeVisible();

  await page.keyboard.press("Control+f");
  await page.keyboard.type("needle");
  for (const name of [/^Code/, /^Text/]) await page.getByRole("checkbox", { name }).uncheck({ force: true });
  await expect(page.locator(".find__n")).toHaveText("1 of 3");
  await expect.poll(() => marked(page)).toBe("needle 1500");
  await expect(page.locator(".find__h")).toHaveText("Line 1,501: needle 1500");
  await page.getByRole("textbox", { name: "Find", exact: true }).press("Enter");
  await expect(page.locator(".find__n")).toHaveText("2 of 3");
  await expect.poll(() => marked(page)).toBe("needle");
  await page.getByRole("textbox", { name: "Find", exact: true }).press("Enter");
  await expect.poll(() => marked(page)).toContain("needle at the end");
});

test("what was found follows a run, and one replacement comes back with one Ctrl+Z", async ({ open }) => {
  const { page } = await open(["word = 'needle'", "print(word)"]);
  await page.locator("article.cell .cell__gutter").first().click();
  await page.keyboard.press("Control+Shift+f");
  await page.keyboard.type("needle");
  await expect(page.locator(".find__n")).toHaveText("1 of 1");
  await page.locator("article.cell .cell__gutter").first().click();
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await expect(page.locator(".find__n")).toHaveText("1 of 2");

  await page.getByRole("textbox", { name: "Replace with" }).fill("pin");
  await page.getByRole("button", { name: "Replace", exact: true }).click();
  const source = page.locator("article.cell .src").first();
  await expect(source).toHaveText("word = 'pin'");
  await expect(page.locator(".find__n")).toHaveText("1 of 1");
  await page.keyboard.press("Control+z");
  await expect(source).toHaveText("word = 'needle'");
  await expect(page.locator(".find__n")).toHaveText(/of 2$/);
});

for (const [width, sidebar] of [
  [800, false],
  [1100, true],
  [1440, true],
] as const) {
  test(`all of find can be seen and pressed in a window of ${width} px`, async ({ open }) => {
    const { page } = await open(["x = 1"]);
    await page.setViewportSize({ width, height: 700 });
    const side = page.locator(".side");
    // A page that was just made narrower, or is still being drawn, shows its sidebar or folds it a moment later.
    await expect(async () => {
      if ((await side.isVisible()) !== sidebar) await page.keyboard.press("Control+b");
      await expect(side).toBeVisible({ visible: sidebar, timeout: 500 });
    }).toPass();
    await page.keyboard.press("Control+Shift+f");
    await page.keyboard.type("x");
    await expect(page.locator(".find__n")).toHaveText("1 of 1");
    const strip = page.getByRole("search");
    const controls = strip.locator("button, input[type=checkbox], input:not([type]), .find__n, .find__h");
    await expect(controls).toHaveCount(16);
    const cut = await strip.evaluate((node) => {
      const box = node.getBoundingClientRect();
      const parts = [...node.querySelectorAll("button, label, input:not([type]), .find__n, .find__h")];
      return parts
        .map((part) => ({ name: part.getAttribute("aria-label") ?? part.textContent, at: part.getBoundingClientRect() }))
        .filter(({ at }) => at.width === 0 || at.left < box.left || at.right > box.right || at.bottom > box.bottom)
        .map(({ name }) => name);
    });
    expect(cut).toEqual([]);
  });
}
