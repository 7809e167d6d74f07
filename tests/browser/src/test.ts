// What every test is given: a home, and a way to open a notebook in it.

import { type Page, expect, test as base } from "@playwright/test";

import { writeNotebook } from "./notebook.ts";
import { Home, WebMode } from "./sandbook.ts";

export { expect } from "@playwright/test";

interface Opened {
  readonly page: Page;
  /** The notebook's file. */
  readonly path: string;
  /** What `sandbook web` printed. */
  readonly address: string;
}

interface Fixtures {
  readonly home: Home;
  /** Writes a notebook with these cells, opens web mode with it, and waits until the page shows it. */
  readonly open: (sources: readonly string[]) => Promise<Opened>;
}

export const test = base.extend<Fixtures>({
  home: async ({}, use) => {
    const home = await Home.make();
    await use(home);
    await home.remove();
  },
  open: async ({ home, page }, use) => {
    const started: WebMode[] = [];
    await use(async (sources) => {
      const path = await writeNotebook(home.notebooks, "notebook.ipynb", sources);
      const web = await WebMode.start(home, path);
      started.push(web);
      await page.goto(web.url);
      // A key that is pressed before goes to a page that does not listen yet, or is undone by the notebook's opening.
      await expect(page.locator("article.cell").first()).toBeVisible();
      return { page, path, address: web.url };
    });
    for (const web of started) await web.stop();
  },
});
