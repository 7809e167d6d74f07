// Nothing that a notebook brought along reaches the page, the owner, another service of this computer, or another address.

import { type Page } from "@playwright/test";

import { Listener, writeHostileNotebook } from "../src/hostile.ts";
import { WebMode } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

/** What an attack would have left in the page. */
function leftInPage(page: Page): Promise<unknown> {
  return page.evaluate(() => {
    const marked = [...document.querySelectorAll("[data-owned]")].map((element) => element.getAttribute("data-owned"));
    return [(window as unknown as { owned?: unknown }).owned, ...marked].filter((mark) => mark !== undefined);
  });
}

test("no output and no Markdown of a hostile notebook gets out", async ({ home, page, context }) => {
  const listener = await Listener.start();
  const notebook = await writeHostileNotebook(home.notebooks, listener.port);
  const web = await WebMode.start(home, notebook.path);
  const opened: string[] = [];
  context.on("page", (other) => opened.push(other.url()));
  page.on("download", (download) => opened.push(download.url()));
  await page.goto(web.url);

  const cells = page.locator("article.cell");
  await expect(cells).toHaveCount(notebook.markdown.length + notebook.outputs.length);
  const address = page.url();
  for (const [index, name] of notebook.outputs.entries()) {
    const frame = cells.nth(notebook.markdown.length + index).locator("iframe");
    await frame.scrollIntoViewIfNeeded();
    await expect
      .poll(() => frame.evaluate((element) => element.clientHeight), { message: `the code of an output that ${name} has run` })
      .toBeGreaterThanOrEqual(300);
    await expect(frame).toHaveAttribute("sandbox", "allow-scripts");
    // A little longer for what an attack does after it has run.
    await page.waitForTimeout(400);
  }
  for (const [index, name] of notebook.markdown.entries()) {
    const cell = cells.nth(index);
    await cell.scrollIntoViewIfNeeded();
    for (const thing of await cell.locator(".md a, .md button").all()) await thing.click({ timeout: 2_000 });
    expect(await leftInPage(page), name).toEqual([]);
  }
  await page.waitForTimeout(1_000);

  // One call that does reach it shows that silence means something.
  await fetch(`http://127.0.0.1:${listener.port}/control`);
  // Chromium connects ahead of a navigation that the policy then refuses. No page can forbid it that; nothing is said.
  const said = listener.heard.filter((line) => line !== "");
  expect(said).toEqual(["GET /control HTTP/1.1"]);
  expect(await leftInPage(page)).toEqual([]);
  expect(page.url()).toBe(address);
  expect(opened).toEqual([]);
  await web.stop();
  listener.stop();
});
