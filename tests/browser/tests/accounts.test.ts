// An account where sandboxes cost something: from its key to a run, with the price before it is spent and the end after.

import { Datalayer } from "../src/datalayer.ts";
import { expect, test } from "../src/test.ts";

const KEY = "acc0unt-k3y-of-a-page-4722";

test("a key leads to a run whose price is confirmed first, and what was started is gone when it is closed", async ({ home, open }) => {
  const cloud = await Datalayer.open(home, KEY);
  try {
    home.variables["DATALAYER_RUN_URL"] = cloud.url;
    home.variables["DATALAYER_API_KEY"] = KEY;
    const { page } = await open(["x = 40\nprint('there', x + 2)"]);
    const cell = page.locator("article.cell").first();
    await cell.locator(".cell__gutter").click();
    await page.getByRole("button", { name: "No sandbox chosen" }).click();
    await page.getByRole("button", { name: /Datalayer/ }).click();

    const dialog = page.getByRole("dialog", { name: /Datalayer/ });
    await dialog.getByLabel("Key", { exact: true }).fill("wr0ng-k3y");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await expect(dialog.locator(".field__error")).toContainText("did not accept");
    await dialog.getByRole("button", { name: "Use the key in DATALAYER_API_KEY" }).click();

    await dialog.getByRole("radio", { name: /AI GPU/ }).click();
    await expect(dialog.getByText(/the account has 50.00 left/)).toBeVisible();
    await expect(dialog.getByRole("button", { name: /^Start, up to 300.00 credits/ })).toBeDisabled();
    await dialog.getByRole("radio", { name: /Python CPU/ }).click();
    await dialog.getByRole("textbox", { name: "Stops after" }).fill("5");
    const start = dialog.getByRole("button", { name: "Start, up to 5.10 credits" });
    await expect(start).toBeEnabled();
    expect(await cloud.runtimes(), "looking makes nothing").toBe(0);
    await start.click();
    await expect(dialog).toHaveCount(0, { timeout: 60_000 });
    expect(await cloud.runtimes()).toBe(1);

    await cell.locator(".cell__gutter").click();
    await page.keyboard.press("Control+Enter");
    await expect(cell.locator(".cell__out")).toContainText("there 42");
    const pill = page.getByRole("button", { name: /^Runtime Datalayer/ });
    await expect(pill).toHaveAccessibleName(/61.20 credits\/h, at most 5.10 credits.* left/);
    await pill.click();
    await page.getByRole("button", { name: /Pause/ }).click();
    await expect(pill).toHaveAccessibleName(/Paused/);
    await pill.click();
    await page.getByRole("button", { name: "Go on" }).click();
    await expect(pill).toHaveAccessibleName(/Idle/);
    expect(await page.content(), "the key is nowhere in the page").not.toContain(KEY);

    await page.keyboard.press("Control+s");
    await expect(page.getByLabel("Status")).toContainText("Saved");
    await page.keyboard.press("Control+w");
    await expect.poll(() => cloud.runtimes(), { timeout: 60_000 }).toBe(0);
  } finally {
    cloud.close();
  }
});
