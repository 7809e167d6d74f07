// Cells are put in another order by hand, and folded away; both are in the file.

import { readFile } from "node:fs/promises";

import { type Page, type Locator } from "@playwright/test";

import { expect, test } from "../src/test.ts";

interface SavedCell {
  readonly source: readonly string[];
  readonly metadata: { readonly jupyter?: Record<string, boolean> };
}

async function saved(path: string): Promise<readonly SavedCell[]> {
  return (JSON.parse(await readFile(path, "utf8")) as { cells: readonly SavedCell[] }).cells;
}

const rows = (page: Page): Locator => page.locator("article.cell");

/** Drags the first locator's gutter to the lower or upper part of the second's row, as a hand does. */
async function drag(page: Page, from: Locator, to: Locator, part: number): Promise<void> {
  const [start, end] = [await from.locator(".cell__gutter").boundingBox(), await to.boundingBox()];
  if (!start || !end) throw new Error("a row is not drawn");
  await page.mouse.move(start.x + 20, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(start.x + 24, start.y + start.height / 2 + 6, { steps: 3 });
  await page.mouse.move(end.x + 20, end.y + end.height * part, { steps: 6 });
  // What is dragged over is told of the place only by the next move after the one that reached it.
  await page.mouse.move(end.x + 21, end.y + end.height * part);
  const line = page.locator(".insert--free:empty");
  const edge = part < 0.5 ? end.y : end.y + end.height;
  const away = async (): Promise<number> => Math.abs(((await line.boundingBox())?.y ?? Infinity) - edge);
  await expect.poll(away, "a line shows where the cells would go").toBeLessThan(8);
  await page.mouse.up();
}

test("a cell is dragged by its gutter to another place, alone or with all that are selected", async ({ open }) => {
  const { page, path } = await open(["a = 1", "b = 2", "c = 3", "d = 4"]);
  const order = () => rows(page).locator(".src").allTextContents();
  await rows(page).first().locator(".cell__gutter").click();
  await drag(page, rows(page).nth(0), rows(page).nth(2), 0.9);
  await expect.poll(order).toEqual(["b = 2", "c = 3", "a = 1", "d = 4"]);
  await expect(page.locator(".insert--free:empty"), "the line that showed the place is gone").toHaveCount(0);

  await rows(page).nth(2).locator(".cell__gutter").click();
  await page.keyboard.press("Shift+j");
  await drag(page, rows(page).nth(3), rows(page).nth(0), 0.1);
  await expect.poll(order).toEqual(["a = 1", "d = 4", "b = 2", "c = 3"]);

  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await saved(path)).map(({ source }) => source.join(""))).toEqual(await order());
  await page.keyboard.press("z");
  await expect.poll(order, "a drag is one step of undo").toEqual(["b = 2", "c = 3", "a = 1", "d = 4"]);

  await page.keyboard.press("Control+a");
  await expect(page.locator("article.cell.is-sel")).toHaveCount(4);
  await rows(page).nth(1).locator(".cell__gutter").click();
  await expect(page.locator("article.cell.is-sel"), "a click that drags nothing selects one").toHaveCount(1);
});

test("source and output are folded by the cell's menu, stay so in the file and come back", async ({ open }) => {
  const { page, path } = await open(["print('an' + ' output')", "x = 1"]);
  const cell = rows(page).first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell.locator(".cell__out")).toContainText("an output");
  for (const action of ["Fold or show the source", "Fold or show the output"]) {
    await cell.getByRole("button", { name: "More cell actions" }).click();
    await page.getByRole("menuitem", { name: action }).click();
  }
  await expect(cell.getByText("Source folded")).toBeVisible();
  await expect(cell.getByText("1 output folded")).toBeVisible();
  await expect(cell.locator(".src")).toHaveCount(0);
  await expect(cell.getByText("an output", { exact: true })).toHaveCount(0);

  await page.keyboard.press("Control+s");
  const folded = { outputs_hidden: true, source_hidden: true };
  await expect.poll(async () => (await saved(path))[0]?.metadata.jupyter).toEqual(folded);
  await page.reload();
  await expect(cell.getByText("Source folded")).toBeVisible();
  for (let left = 2; left > 0; left--) {
    await cell.getByRole("button", { name: "Show", exact: true }).first().click();
    await expect(cell.getByRole("button", { name: "Show", exact: true })).toHaveCount(left - 1);
  }
  await expect(cell.locator(".src")).toContainText("print");
  await expect(cell.locator(".cell__out")).toContainText("an output");
});
