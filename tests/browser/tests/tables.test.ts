// Tables as pandas makes them: drawn by the page in its own look, whatever their size.

import { expect, test } from "../src/test.ts";

const TABLE =
  "import pandas as pd\npd.set_option('display.max_columns', None)\n" +
  "pd.DataFrame({f'measurement {c}': [f'{r * c / 7:.6f} and more' for r in range(60)] for c in range(40)})";

test("a table of 60 rows and 40 columns is drawn by the page, folded, and opens in full", async ({
  open,
}) => {
  const { page } = await open([TABLE]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");

  const table = cell.locator("table.df");
  await expect(table.locator("tbody tr")).toHaveCount(20);
  await expect(table.locator("thead th")).toHaveCount(41);
  await expect(cell.locator("iframe")).toHaveCount(0);
  await expect(cell.getByText("20 of 60 rows, 40 columns")).toBeVisible();
  await cell.getByRole("button", { name: "Show 40 more rows" }).click();
  await expect(table.locator("tbody tr")).toHaveCount(60);
});
