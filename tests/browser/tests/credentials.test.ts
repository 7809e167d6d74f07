// Credentials on the settings page, with the real owner and the session's real keyring.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "../src/test.ts";

test("what another program keeps is taken over when it is asked for", async ({ home, open }) => {
  const folder = join(home.notebooks, "..", "kaggle");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "kaggle.json"), '{"username":"ana","key":"br0wser0kaggle0key0test000000000"}');
  home.variables["KAGGLE_CONFIG_DIR"] = folder;
  const { page } = await open(["x = 1"]);
  await page.keyboard.press("Control+,");
  await page.getByRole("tab", { name: "Credentials" }).click();
  await page.getByRole("button", { name: "Look on this computer" }).click();
  await page.getByRole("button", { name: "Take over: Kaggle, ana" }).click();
  await expect(page.getByRole("rowheader", { name: "Kaggle, ana" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Replace yours with: Kaggle, ana" })).toBeVisible();
  await page.getByRole("button", { name: "Remove Kaggle, ana" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByRole("rowheader", { name: "Kaggle, ana" })).toHaveCount(0);
});
