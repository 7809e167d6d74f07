// Somebody else changes the file while there are changes here: nothing is overwritten before the person has chosen.

import { readFile, writeFile } from "node:fs/promises";

import { expect, test } from "../src/test.ts";

test("a file that was changed on disk is compared, taken or written over, as the person says", async ({ open }) => {
  const { page, path } = await open(["shared = 0", "x = 1"]);
  const cells = page.locator("article.cell");
  const status = page.getByLabel("Status");
  const question = page.getByRole("alertdialog", { name: "The file was changed on disk" });
  const first = async (): Promise<string> => (await cells.first().locator(".cell__src").textContent())?.trim() ?? "";

  /** Types here, and writes to the file beside it before it saves itself. */
  const collide = async (mine: string, theirs: string): Promise<void> => {
    await cells.first().locator(".cell__src").click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(mine);
    await expect(status).toContainText("Unsaved changes");
    const text = JSON.parse(await readFile(path, "utf8")) as { cells: { source: string[] }[] };
    if (text.cells[0]) text.cells[0].source = [theirs];
    await writeFile(path, JSON.stringify(text));
    await page.getByText("Somebody else changed this file on disk.").waitFor();
    await page.getByRole("button", { name: "Choose…" }).click();
  };

  await collide("shared = 'mine'", "shared = 'theirs'");
  await question.getByRole("button", { name: "Compare" }).click();
  const differences = question.getByRole("region", { name: "Differences" });
  await expect(differences.locator(".del")).toHaveText(/−\s*shared = 'theirs'/);
  await expect(differences.locator(".add")).toHaveText(/\+\s*shared = 'mine'/);
  expect(await readFile(path, "utf8"), "looking changes nothing").toContain("shared = 'theirs'");
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await first()).toBe("shared = 'mine'");

  await page.getByRole("button", { name: "Choose…" }).click();
  await question.getByRole("button", { name: "Keep mine" }).click();
  await expect.poll(() => readFile(path, "utf8")).toContain("shared = 'mine'");
  await expect(page.getByText("Somebody else changed this file on disk.")).toHaveCount(0);

  await collide("shared = 'mine again'", "shared = 'theirs again'");
  await question.getByRole("button", { name: "Take theirs" }).click();
  await expect.poll(first).toBe("shared = 'theirs again'");
  await expect(status).toContainText("Saved");
  expect(await readFile(path, "utf8")).toContain("shared = 'theirs again'");
  await page.keyboard.press("Escape");
  await page.keyboard.press("z");
  await expect.poll(first, "what was dropped comes back with undo").toBe("shared = 'mine again'");
});
