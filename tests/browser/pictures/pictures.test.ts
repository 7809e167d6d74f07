// Each screen as a person sees it, light and dark, made from the running app.

import { join } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "../src/test.ts";

const FOLDER = join(import.meta.dirname, "../../../docs/pictures");

const CELLS = [
  "import numpy as np, pandas as pd, matplotlib.pyplot as plt\nfrom tqdm import tqdm",
  "rng = np.random.default_rng(7)\ntrips = pd.DataFrame({'hour': range(24), 'weekday': rng.poisson(80, 24), 'weekend': rng.poisson(55, 24)})\ntrips.head()",
  "fig, ax = plt.subplots(figsize=(8, 2.4))\nax.plot(trips.hour, trips.weekday, label='weekday')\nax.plot(trips.hour, trips.weekend, '--', label='weekend')\nax.legend()\nplt.show()",
  "for epoch in tqdm(range(40)):\n    np.linalg.svd(rng.normal(size=(120, 120)))\nprint('\\x1b[32mbest 0.3377, saved\\x1b[0m')",
  "trips['holiday'].mean()",
];

async function picture(page: Page, name: string, scheme: string): Promise<void> {
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(FOLDER, `${name}.${scheme}.png`) });
}

async function palette(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.waitForTimeout(300);
  await page.keyboard.type(words);
  await page.waitForTimeout(500);
}

for (const scheme of ["light", "dark"] as const) {
  test(`the workbench, ${scheme}`, async ({ open, page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    await open(CELLS);
    await expect(page.locator(".cell").first()).toBeVisible();
    await picture(page, "workbench-new", scheme);
    await palette(page, "run all");
    await picture(page, "palette", scheme);
    await page.keyboard.press("Enter");
    await expect(page.getByText("KeyError").first()).toBeVisible({ timeout: 100_000 });
    await picture(page, "workbench", scheme);
    await page.locator(".cell").last().scrollIntoViewIfNeeded();
    await picture(page, "outputs", scheme);
    await page.setViewportSize({ width: 860, height: 900 });
    await picture(page, "narrow", scheme);
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press("Control+f");
    await page.keyboard.type("trips");
    await picture(page, "find", scheme);
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+,");
    await picture(page, "settings", scheme);
  });

  test(`the start screen, ${scheme}`, async ({ open, page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.emulateMedia({ colorScheme: scheme });
    await open(["1 + 1"]);
    await expect(page.locator(".cell").first()).toBeVisible();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+w");
    await picture(page, "start", scheme);
    await page.getByRole("textbox").first().click();
    await page.evaluate(() => navigator.clipboard.writeText("http://127.0.0.1:9/lab?token=not-a-real-token"));
    await page.keyboard.press("Control+v");
    await expect(page.getByText("Jupyter server").first()).toBeVisible();
    await picture(page, "start-pasted", scheme);
  });
}
