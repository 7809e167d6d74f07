// The main job: a notebook that somebody else wrote opens, runs, is edited and saved.

import { readFile } from "node:fs/promises";

import { expect, test } from "../src/test.ts";

interface SavedCell {
  readonly source: readonly string[];
  readonly execution_count: number | null;
  readonly outputs: readonly { readonly output_type: string; readonly data?: Record<string, unknown> }[];
}

async function savedCells(path: string): Promise<readonly SavedCell[]> {
  return (JSON.parse(await readFile(path, "utf8")) as { cells: readonly SavedCell[] }).cells;
}

const SLOW_LINES = "import time\nfor number in range(3):\n    print('line', number, flush=True)\n    time.sleep(0.5)";
const FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()";

test("a notebook runs, its text streams in, its figure is drawn, and all of it is saved", async ({ open }) => {
  const { page, path } = await open([SLOW_LINES, FIGURE]);
  const [lines, figure] = [page.locator("article.cell").nth(0), page.locator("article.cell").nth(1)];

  await lines.locator(".cell__gutter").click();
  await page.keyboard.press("Shift+Enter");
  await expect(lines.locator(".cell__out")).toContainText("line 0");
  await expect(lines, "text is shown while the cell still runs").toHaveClass(/is-running/);
  await expect(lines.locator(".cell__out")).toContainText("line 2");
  await expect(lines).toHaveClass(/is-done/);
  await expect(lines.locator(".cell__gutter")).toContainText("[1]");

  await page.keyboard.press("Shift+Enter");
  const picture = figure.locator("img.fig");
  await expect(picture).toBeVisible();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100);

  await page.keyboard.press("Control+s");
  await expect(page.getByLabel("Status")).toContainText("Saved");
  const [savedLines, savedFigure] = await savedCells(path);
  expect(savedLines?.execution_count).toBe(1);
  expect(savedFigure?.outputs.map((output) => Object.keys(output.data ?? {})).flat()).toContain("image/png");
});

test("an edit is saved, and the cell beside it keeps its bytes", async ({ open }) => {
  const { page, path } = await open(["first = 1", "second = 2"]);
  const before = await savedCells(path);

  await page.locator("article.cell").nth(0).locator(".src").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" + 10");
  await page.keyboard.press("Control+s");
  await expect.poll(async () => (await savedCells(path))[0]?.source).toEqual(["first = 1 + 10"]);
  expect((await savedCells(path))[1]).toEqual(before[1]);
});

test("a running cell is stopped by the person and its text is kept", async ({ open }) => {
  const { page } = await open(["import time\nprint('begun', flush=True)\ntime.sleep(600)"]);
  const cell = page.locator("article.cell").first();

  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell.locator(".cell__out")).toContainText("begun");
  await page.getByRole("button", { name: "Stop the running cell" }).click();
  await expect(cell).toHaveClass(/is-stopped/);
  await expect(cell.locator(".cell__out")).toContainText("begun");
});

