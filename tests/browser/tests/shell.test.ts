// What stands around the notebook: the start screen, the outline and the toolbar.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { WebMode } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

test("the start screen says what is ready here, starts it, and opens again what was open", async ({ home, page }) => {
  const web = await WebMode.start(home);
  await page.goto(web.url);
  const here = page.getByRole("region", { name: "On this computer" });
  const kernel = here.getByRole("button", { name: /^\S*\s*Jupyter kernel/ });
  await expect(kernel.locator(".st")).toHaveText("Ready");
  await expect(kernel).toContainText("Python");
  await expect(page.getByText("Nothing opened yet.")).toBeVisible();
  await expect(page.getByText("Nothing is running, nothing costs money.")).toBeVisible();

  await kernel.click();
  await expect(page.locator("article.cell")).toHaveCount(1);
  await expect(page.getByRole("button", { name: /^Runtime .*Idle/ })).toBeVisible();
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog");
  const folder = dialog.getByLabel("Folder", { exact: true });
  await expect(folder).not.toHaveValue("");
  await folder.fill(home.notebooks);
  await folder.press("Enter");
  await page.getByLabel("File name").fill("made");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByLabel("Status")).toContainText("Saved");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("start screen");
  await page.keyboard.press("Enter");
  const running = page.getByRole("region", { name: "Running now" });
  await expect(running.getByRole("button")).toContainText("for made.ipynb");
  const recent = page.getByRole("row").filter({ hasText: "made.ipynb" });
  await expect(recent).toContainText("notebooks");
  await recent.getByRole("button", { name: "made.ipynb" }).click();
  await expect(page.locator("article.cell:visible")).toHaveCount(1);
  await web.stop();
});

test("the outline lists headings and cells, shows only headings on demand, and leads to each", async ({ home, page }) => {
  const text = (source: string) => ({ cell_type: "markdown", metadata: {}, source });
  const code = (source: string) => ({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source });
  const filler = Array.from({ length: 40 }, (_, i) => code(`filler_${i} = ${i}`));
  const cells = [text("# Title\n\nwords"), code("first = 1"), text("## Part one"), ...filler, text("# The end")];
  const path = join(home.notebooks, "outlined.ipynb");
  await writeFile(path, JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 4 }));
  const web = await WebMode.start(home, path);
  await page.goto(web.url);
  const tree = page.getByRole("tree", { name: "Notebook outline" });
  await expect(tree.getByRole("treeitem").first()).toHaveText("Title");
  await expect(tree.getByRole("treeitem").nth(1)).toHaveText("first = 1");
  await page.getByRole("button", { name: "Show headings only" }).click();
  await expect(tree.getByRole("treeitem")).toHaveText(["Title", "Part one", "The end"]);

  await tree.getByRole("treeitem", { name: "The end" }).click();
  const last = page.locator("article.cell").last();
  await expect(last).toBeInViewport();
  await expect(last).toHaveAttribute("aria-current", "true");
  await expect(tree.getByRole("treeitem", { name: "The end" })).toHaveAttribute("aria-selected", "true");
  await tree.getByRole("treeitem", { name: "Title" }).click();
  await expect(page.locator("article.cell").first()).toBeInViewport();
  await web.stop();
});

test("each button of the toolbar does what it is called", async ({ open }) => {
  const { page } = await open(["import time\nprint('begun', flush=True)\ntime.sleep(600)", "print('second')"]);
  const bar = page.getByRole("toolbar", { name: "Notebook" });
  const press = (name: string | RegExp) => bar.getByRole("button", { name }).click();
  const cells = page.locator("article.cell");
  const stop = bar.getByRole("button", { name: /^Stop the running cell/ });
  const undo = bar.getByRole("button", { name: /^Undo/ });
  await cells.first().locator(".cell__gutter").click();
  await expect(stop).toBeDisabled();
  await expect(undo).toBeDisabled();
  await expect(bar.getByRole("button", { name: /^Restart the kernel/ })).toBeDisabled();

  await press(/^Run$/);
  await expect(cells.nth(1), "run goes to the next cell").toHaveAttribute("aria-current", "true");
  await expect(cells.first().locator(".cell__out")).toContainText("begun");
  await stop.click();
  await expect(cells.first()).toHaveClass(/is-stopped/);
  await expect(stop).toBeDisabled();

  await press("Add a text cell");
  await expect(cells).toHaveCount(3);
  await expect(cells.nth(2)).toHaveClass(/is-edit/);
  await press("Add a code cell");
  await expect(cells).toHaveCount(4);
  await undo.click();
  await expect(cells).toHaveCount(3);
  await press(/^Redo/);
  await expect(cells).toHaveCount(4);
  await press(/^Save/);
  await expect(page.getByLabel("Status")).toContainText("Saved");
  await press("Run all cells");
  await expect(cells.first()).toHaveClass(/is-running/);
  await expect(cells.nth(1)).toHaveClass(/is-queued/);
  await stop.click();
  await press("Logs");
  await expect(page.getByRole("log", { name: "Log lines" })).toBeVisible();
  await press("Logs");
  await expect(page.getByRole("log", { name: "Log lines" })).toHaveCount(0);
});
