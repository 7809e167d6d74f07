// What a kernel shows, in each of its forms; and all of it can be had, however long it is.

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Locator, Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

async function run(page: Page): Promise<Locator> {
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell).toHaveClass(/is-done/);
  return cell;
}

async function saveAs(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Save as a file" });
  await expect(dialog.getByLabel("Folder", { exact: true })).not.toHaveValue("");
  await dialog.getByLabel("File name").fill(name);
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await expect(dialog).toHaveCount(0);
}

const FORMS =
  "from IPython.display import JSON, Latex, display\n" +
  "display(Latex(r'$\\frac{\\alpha}{2}$'))\n" +
  "display(JSON({'name': 'value', 'list': [1, {'deep': None}], 'many': list(range(150))}))\n" +
  "display({'text/html': '<b id=\"rich\">rich</b>', 'text/markdown': '*slanted*', 'text/plain': 'plain'}, raw=True)";

test("LaTeX is set as a formula, JSON is a tree that opens, and other forms of an output are a press away", async ({ open }) => {
  const { page } = await open([FORMS]);
  const cell = await run(page);
  const outputs = cell.locator(".out");
  await expect(outputs).toHaveCount(3);

  await expect(outputs.nth(0).locator("math mfrac")).toContainText("α");
  const box = await outputs.nth(0).locator("math mfrac").boundingBox();
  expect(box?.height ?? 0, "a fraction is higher than a line").toBeGreaterThan(16);

  const tree = outputs.nth(1).getByRole("tree", { name: "JSON" });
  const items = tree.getByRole("treeitem");
  await expect(items).toContainText([/3 keys/, /name\s*"value"/, /list\s*\[2 items\]/, /many\s*\[150 items\]/]);
  await tree.getByRole("button", { name: /^list/ }).click();
  await expect(items.filter({ hasText: /^\s*0\s*1\s*$/ })).toBeVisible();
  await tree.getByRole("button", { name: /1 key/ }).click();
  await expect(items.filter({ hasText: /deep\s*null/ })).toBeVisible();
  await tree.getByRole("button", { name: /^list/ }).click();
  await expect(items.filter({ hasText: "deep" })).toHaveCount(0);
  await tree.getByRole("button", { name: /^many/ }).click();
  await expect(items).toHaveCount(104);
  await tree.getByRole("button", { name: "Show more, 50 items left" }).click();
  await expect(items).toHaveCount(154);

  const rich = outputs.nth(2);
  const form = (name: string) => rich.getByRole("radiogroup", { name: "Show this output as" }).getByRole("radio", { name });
  await expect(form("HTML"), "the richest comes first").toBeChecked();
  await expect(rich.frameLocator("iframe").locator("#rich")).toHaveText("rich");
  await form("Markdown").click();
  await expect(rich.locator("em")).toHaveText("slanted");
  await expect(rich.locator("iframe")).toHaveCount(0);
  await form("Plain text").click();
  await expect(rich.locator(".txt")).toHaveText("plain");
  await expect(form("Plain text")).toBeChecked();
  await form("HTML").click();
  await expect(rich.frameLocator("iframe").locator("#rich")).toHaveText("rich");
});

const KINDS = ["png", "jpeg", "gif", "webp"];
const PICTURES =
  "import base64, hashlib, io\nfrom IPython.display import display\nfrom PIL import Image\n" +
  `for width, kind in enumerate(${JSON.stringify(KINDS)}, 40):\n` +
  "    file = io.BytesIO()\n    Image.new('RGB', (width, 30), 'teal').save(file, kind)\n" +
  "    display({f'image/{kind}': base64.b64encode(file.getvalue()).decode()}, raw=True)\n" +
  "    print(kind, len(file.getvalue()), hashlib.sha256(file.getvalue()).hexdigest())";

test("PNG, JPEG, GIF and WebP are drawn, their size is told, and each is saved as the bytes it was", async ({ open, home }) => {
  const { page } = await open([PICTURES]);
  const cell = await run(page);
  const pictures = cell.locator(".pic");
  await expect(pictures).toHaveCount(4);
  const told = ((await cell.locator(".cell__out").textContent()) ?? "").matchAll(/(\w+) (\d+) ([0-9a-f]{64})/g);
  const made = new Map([...told].map(([, kind, length, hash]) => [kind?.replace(/^.*?(png|jpeg|gif|webp)$/, "$1"), { length, hash }]));
  for (const [index, kind] of KINDS.entries()) {
    const picture = pictures.nth(index);
    const width = 40 + index;
    await picture.scrollIntoViewIfNeeded();
    const size = () => picture.locator("img").evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight]);
    await expect.poll(size, kind).toEqual([width, 30]);
    await picture.hover();
    const of = made.get(kind);
    await expect(picture.getByRole("toolbar", { name: "Figure" })).toContainText(`${width} × 30, ${of?.length} B`);
    await picture.getByRole("button", { name: "Save the picture" }).click();
    await expect(page.getByLabel("File name")).toHaveValue(`figure.${kind === "jpeg" ? "jpg" : kind}`);
    await saveAs(page, `saved.${kind}`);
    const bytes = await readFile(join(home.notebooks, `saved.${kind}`));
    expect(createHash("sha256").update(bytes).digest("hex"), kind).toBe(of?.hash);
  }
});

const COUNT = 6000;
const LINES = `print('\\n'.join(f'{i:05d} ' + chr(97 + i % 26) * 1900 for i in range(${COUNT})))`;
const line = (index: number): string => `${String(index).padStart(5, "0")} ${String.fromCharCode(97 + (index % 26)).repeat(1900)}`;

test("of 11 MB of lines the page holds no more than 512 KB, and shows, finds, copies and saves every one of them", async ({
  open,
  page,
  home,
  context,
}) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open([LINES]);
  const cell = await run(page);
  const held = (): Promise<number> => cell.locator(".cell__out").evaluate((node) => node.textContent?.length ?? 0);
  await cell.getByRole("button", { name: "Show 200 more" }).click();
  await expect(cell.locator(".cell__out")).toContainText(line(203));
  expect(await held()).toBeLessThan(512 * 1024);
  await cell.getByRole("button", { name: "Show 200 more" }).click();

  const whole = cell.getByRole("region", { name: "Whole output" });
  const first = whole.locator(".viewer__line").first();
  for (const place of [0.31, 0.77, 1, 0]) {
    await whole.evaluate((box, part) => (box.scrollTop = (box.scrollHeight - box.clientHeight) * part), place);
    const from = async (): Promise<number> => Number(await first.getAttribute("data-from"));
    await expect.poll(async () => Math.abs((await from()) - (COUNT - 21) * place)).toBeLessThan(3);
    await expect.poll(() => whole.locator(".viewer__line").evaluateAll((lines) => lines.filter((one) => !one.textContent).length)).toBe(0);
    const index = await from();
    expect(await first.textContent()).toBe(line(index));
    expect(await held()).toBeLessThan(512 * 1024);
  }

  await cell.getByLabel("Search inside this output").fill("04321 ");
  await page.keyboard.press("Enter");
  await expect(cell.getByText("1 of 1", { exact: true })).toBeVisible();
  await expect(whole.locator(".viewer__line.is-hit")).toHaveText(line(4321));

  const all = Array.from({ length: COUNT }, (_, index) => line(index)).join("\n");
  await cell.getByRole("button", { name: "Copy all" }).click();
  await expect(cell.getByRole("button", { name: "Copy all" })).toBeEnabled();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText().then((text) => text.length))).toBe(all.length);
  expect((await page.evaluate(() => navigator.clipboard.readText())) === all).toBe(true);
  await cell.getByRole("button", { name: "Save as file" }).click();
  await saveAs(page, "all.txt");
  expect((await readFile(join(home.notebooks, "all.txt"), "utf8")) === `${all}\n`).toBe(true);
  await cell.getByRole("button", { name: "Fold", exact: true }).click();
  await expect(cell.getByText(/lines folded/)).toBeVisible();
});

test("Python is coloured alike while it is read and while it is written", async ({ open }) => {
  const { page } = await open(['def area(r):  # of a disc\n    return 3.14 * r ** 2 if r else "none"']);
  const cell = page.locator("article.cell").first();
  const WORDS = ["def", "area", "# of a disc", "return", "3.14", '"none"', "if"];
  /** The colour of each word, by the element it stands in. */
  const colours = (around: string): Promise<Record<string, string>> =>
    cell.locator(around).evaluate((node, words) => {
      const found: Record<string, string> = {};
      for (const part of node.querySelectorAll("span")) {
        const text = part.textContent?.trim() ?? "";
        if (part.children.length === 0 && words.includes(text)) found[text] = getComputedStyle(part).color;
      }
      return found;
    }, WORDS);
  await expect.poll(async () => Object.keys(await colours(".src")).length).toBe(WORDS.length);
  const still = await colours(".src");
  const plain = await cell.locator(".src").evaluate((node) => getComputedStyle(node).color);
  expect(still["def"]).toBe(still["return"]);
  expect(still["def"]).toBe(still["if"]);
  const kinds = [plain, still["def"], still["3.14"], still['"none"'], still["# of a disc"]];
  expect(new Set(kinds).size, "keyword, number, string and comment differ from each other and from the rest").toBe(5);

  await cell.locator(".src").click();
  await expect.poll(() => colours(".cm-content")).toEqual(still);
});
