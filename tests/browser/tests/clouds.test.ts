// The kernel of a cloud's open page: from a pasted link to a run, and on with a fresh link.

import type { Page } from "@playwright/test";

import { ColabTab, tokenUntil } from "../src/cloud.ts";
import { expect, test } from "../src/test.ts";

const MINUTE = 60_000;

async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((words) => navigator.clipboard.writeText(words), text);
  await page.keyboard.press("Control+v");
}

test("a pasted link runs a cell, is never readable, and a fresh one goes on in the same kernel", async ({ context, home, open, page }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const [first, fresh] = [tokenUntil(Date.now() + 4.9 * MINUTE), tokenUntil(Date.now() + 60 * MINUTE)];
  const tab = await ColabTab.open(home, first);
  try {
    const code = "import time\nfor step in range(100):\n    print('step', step, flush=True)\n    time.sleep(0.2)";
    await open([code]);
    await page.locator(".cell__gutter").first().click();
    await page.getByRole("button", { name: "No sandbox chosen" }).click();
    await page.getByRole("button", { name: "Google Colab" }).click();
    await page.getByRole("textbox", { name: "Channels link" }).click();
    await paste(page, tab.link(first));
    const link = page.getByRole("textbox", { name: "Channels link" });
    await expect(link).toContainText("hidden");
    expect(await page.content(), "the token is nowhere in the page").not.toContain(first);
    await page.getByRole("button", { name: "Connect" }).click();
    await expect(page.getByRole("dialog")).toHaveCount(0);

    await page.locator(".cell__gutter").first().click();
    await page.keyboard.press("Control+Enter");
    const output = page.locator("article.cell .cell__out");
    await expect(output).toContainText("step 2");
    await expect(page.locator(".banner")).toContainText(/The link to .* ends/);

    await tab.changeToken(fresh);
    await expect(page.locator(".banner")).toContainText("is not taken any more");
    await page.getByRole("button", { name: "Paste a fresh link…" }).click();
    await link.click();
    await paste(page, tab.link(first));
    await page.getByRole("button", { name: "Go on with this link" }).click();
    await expect(page.locator(".field__error")).toBeVisible();
    await link.click();
    await paste(page, tab.link(fresh));
    await page.getByRole("button", { name: "Go on with this link" }).click();
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await expect(page.locator(".banner")).toHaveCount(0);
    await expect(output).toContainText("step 99");
    const all = await page.content();
    expect(all.includes(first) || all.includes(fresh), "no token is anywhere in the page").toBe(false);
  } finally {
    tab.close();
  }
});

test("the address of the page in place of its channels link is told apart, with the steps to the right one", async ({ open, page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(["1"]);
  await expect(page.locator("article.cell")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+w");
  await page.getByRole("textbox", { name: "Paste anything" }).click();
  await paste(page, "https://colab.research.google.com/drive/1xRf0c9QkZt2#scrollTo=Lm3u");
  await expect(page.locator(".connect--bad .steps li")).toHaveCount(3);
});
