// Pictures: in the clipboard, and attached to text cells.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { Listener } from "../src/hostile.ts";
import { WebMode } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

const FIGURES =
  "import base64, io, matplotlib.pyplot as plt\nfrom IPython.display import Image, display\nfrom PIL import Image as Picture\n" +
  "for kind in ('png', 'jpeg'):\n    file = io.BytesIO()\n    Picture.new('RGB', (400, 300), 'red').save(file, kind)\n" +
  "    display(Image(file.getvalue(), format=kind))";

test("a picture is copied as PNG, whatever it was", async ({ open, page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open([FIGURES]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell.locator("img.fig")).toHaveCount(2);
  for (const index of [0, 1]) {
    await page.evaluate(() => navigator.clipboard.writeText("something else"));
    await cell.locator(".pic").nth(index).hover();
    await cell.getByRole("button", { name: "Copy picture" }).nth(index).click();
    const size = () =>
      page.evaluate(async () => {
        const [item] = await navigator.clipboard.read();
        if (!item?.types.includes("image/png")) return null;
        const bitmap = await createImageBitmap(await item.getType("image/png"));
        return [bitmap.width, bitmap.height];
      });
    await expect.poll(size).toEqual([400, 300]);
    await expect(page.getByText("Picture copied.").first()).toBeVisible();
  }
});

test("an SVG attached to a text cell is drawn, and nothing in it runs or loads", async ({ home, page }) => {
  const listener = await Listener.start();
  const reach = `http://127.0.0.1:${listener.port}`;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80" onload="parent.owned=1;fetch('${reach}/load')">` +
    `<script>parent.owned = 1; fetch('${reach}/script')</script><image href="${reach}/image" width="9" height="9"/>` +
    '<rect width="120" height="80" fill="teal"/></svg>';
  const text = { cell_type: "markdown", id: "a", metadata: {}, source: "before ![a square](attachment:square.svg) after" };
  const cells = [{ ...text, attachments: { "square.svg": { "image/svg+xml": svg } } }];
  const path = join(home.notebooks, "attached.ipynb");
  await writeFile(path, JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }));
  const web = await WebMode.start(home, path);
  await page.goto(web.url);

  const picture = page.getByRole("img", { name: "a square" });
  await expect(picture).toBeVisible();
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight])).toEqual([120, 80]);
  await expect(picture).toHaveAttribute("src", /^blob:/);
  await page.waitForTimeout(500);
  expect(await page.evaluate(() => "owned" in window)).toBe(false);
  expect(listener.heard.filter((line) => line !== "")).toEqual([]);
  await web.stop();
  listener.stop();
});
