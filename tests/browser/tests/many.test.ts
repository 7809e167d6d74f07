// A cell that leaves hundreds of outputs: all of them have a place at once, each is drawn where somebody looks, and what is
// looked at stays where it is.

import type { Locator, Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

const PICTURES =
  "import struct, zlib\nfrom IPython.display import display, Image\n" +
  "def png(width, height, shade):\n" +
  "    chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n" +
  "    raw = (b'\\0' + bytes([shade]) * width) * height\n" +
  "    return b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)) + " +
  "chunk(b'IDAT', zlib.compress(raw)) + chunk(b'IEND', b'')\n" +
  "for i in range(400): display(Image(data=png(120, 40 + i % 7 * 30, i % 250), format='png'))";

interface Ran {
  readonly page: Page;
  readonly cell: Locator;
  readonly outputs: Locator;
}

/** Runs one cell that leaves so many outputs. */
async function run(open: (sources: readonly string[]) => Promise<{ page: Page }>, source: string, count: number): Promise<Ran> {
  const { page } = await open([source]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell).toHaveClass(/is-done/);
  const outputs = cell.locator(".out");
  await expect(outputs).toHaveCount(count);
  return { page, cell, outputs };
}

test("400 pictures all have their place, and the one that is scrolled to is drawn and does not move away", async ({
  open,
}) => {
  const { page, cell, outputs } = await run(open, PICTURES, 400);
  expect(await cell.locator("img").count(), "those far away are not drawn").toBeLessThan(200);

  for (const index of [201, 333, 399]) {
    const picture = outputs.nth(index).locator("img");
    await outputs.nth(index).evaluate((node) => node.scrollIntoView({ block: "center" }));
    await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalHeight)).toBe(40 + (index % 7) * 30);
    await page.waitForTimeout(300);
    await expect(picture).toBeInViewport({ ratio: 1 });
  }
});

test("who jumps from frame to frame arrives at each, although those that are passed still grow", async ({ open }) => {
  const frames =
    "from IPython.display import display, HTML\n" +
    "for i in range(150): display(HTML(f'<div style=\"height:{60 + i % 9 * 40}px\">frame {i}</div>'))";
  const { outputs } = await run(open, frames, 150);

  for (let index = 0; index < 150; index += 7) {
    await outputs.nth(index).evaluate((node) => node.scrollIntoView({ block: "center" }));
    await expect(outputs.nth(index).locator("iframe"), `frame ${index}`).toBeInViewport();
  }
});
