// A sandbox at Modal: from a token pair to a run, with the estimate on the button that spends it.

import { Modal } from "../src/modal.ts";
import { expect, test } from "../src/test.ts";

const ID = "ak-m0dal0000page";
const SECRET = "as-n0b0dysh0uldsee4733";

test("a token pair leads to a run whose price is confirmed first, and the sandbox is gone when it is closed", async ({
  home,
  open,
}) => {
  const modal = await Modal.open(home, ID, SECRET);
  try {
    home.variables["MODAL_SERVER_URL"] = modal.url;
    const { page } = await open(["x = 40\nprint('there', x + 2)"]);
    const cell = page.locator("article.cell").first();
    await cell.locator(".cell__gutter").click();
    await page.getByRole("button", { name: "No sandbox chosen" }).click();
    await page.getByRole("button", { name: /Modal/ }).click();

    const dialog = page.getByRole("dialog", { name: /Modal/ });
    await dialog.getByLabel("Token pair", { exact: true }).fill(ID);
    await dialog.getByRole("button", { name: "Connect" }).click();
    await expect(dialog.locator(".field__error")).toContainText("half of a Modal token");
    await dialog.getByLabel("Token pair", { exact: true }).fill(`${ID} ${SECRET}`);
    await dialog.getByRole("button", { name: "Connect" }).click();

    await expect(dialog.getByRole("radio", { name: /H100.*\$3.95\/h/ })).toBeVisible();
    await expect(dialog.getByText(/Estimate, from the prices of/)).toBeVisible();
    await dialog.getByRole("textbox", { name: "Cores" }).fill("4");
    await dialog.getByRole("textbox", { name: "Memory" }).fill("lots");
    await expect(dialog.getByText("1 field needs a fix")).toBeVisible();
    await dialog.getByRole("textbox", { name: "Memory" }).fill("16 GiB");
    await dialog.getByRole("textbox", { name: "Stops after" }).fill("120");
    const start = dialog.getByRole("button", { name: "Start, up to $1.90" });
    await expect(start).toBeEnabled();
    expect(await modal.running(), "looking makes nothing").toBe(0);
    await start.click();
    await expect(dialog).toHaveCount(0, { timeout: 60_000 });
    expect(await modal.running()).toBe(1);

    await cell.locator(".cell__gutter").click();
    await page.keyboard.press("Control+Enter");
    await expect(cell.locator(".cell__out")).toContainText("there 42");
    const pill = page.getByRole("button", { name: /^Runtime Modal/ });
    await expect(pill).toHaveAccessibleName(/\$0.95\/h, estimate, .*at most \$1.90.* left/);
    expect(await page.content(), "the secret is nowhere in the page").not.toContain(SECRET);

    await page.keyboard.press("Control+s");
    await expect(page.getByLabel("Status")).toContainText("Saved");
    await page.keyboard.press("Control+w");
    await expect.poll(() => modal.running(), { timeout: 60_000 }).toBe(0);
  } finally {
    modal.close();
  }
});
