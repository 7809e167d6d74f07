// The screen of a container, on a real engine: what is wrong is told before anything is made, and what was agreed to holds.

import { execFile } from "node:child_process";
import { chown, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import type { Home } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

/** The person to whom the notebook belongs. */
const PERSON = 1234;

const given = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: there is no container engine for the tests`);
  return value;
};

async function docker(...words: string[]): Promise<string> {
  const env = { ...process.env, DOCKER_HOST: given("SANDBOOK_TEST_DOCKER") };
  return (await promisify(execFile)("docker", words, { env })).stdout.trim();
}

const containers = (home: Home): Promise<string> =>
  docker("ps", "--all", "--quiet", "--filter", `volume=${home.notebooks}`);

test("a container is started with what was filled in, sees the notebook's folder, and is gone when it is closed", async ({
  open,
  home,
}) => {
  home.variables["DOCKER_HOST"] = given("SANDBOOK_TEST_DOCKER");
  await chown(home.notebooks, PERSON, PERSON);
  await writeFile(join(home.notebooks, "data.csv"), "a,b\n1,2\n");
  const { page } = await open([
    "import os, socket, pandas\nopen('/work/written', 'w').close()\nprint(os.getuid(), os.getcwd(), pandas.read_csv('data.csv').b[0], [name for _, name in socket.if_nameindex()])",
  ]);
  const cell = page.locator("article.cell").first();
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("choose a sandbox");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: /Docker container/ }).click();

  const dialog = page.getByRole("dialog", { name: "Start a container" });
  const start = dialog.getByRole("button", { name: /^(Start|Pull and start)$/ });
  await expect(dialog.getByText(/Docker Engine .* CPU/)).toBeVisible();
  await dialog.getByRole("textbox", { name: "Image" }).fill("sandbook/no-such-image");
  await expect(dialog.getByText("It is not on this computer.")).toBeVisible();
  await expect(start).toBeDisabled();
  await dialog.getByRole("checkbox", { name: /Pull it/ }).click();
  await expect(start).toBeEnabled();

  await dialog.getByRole("textbox", { name: "Image" }).fill(given("SANDBOOK_TEST_IMAGE"));
  await expect(dialog.getByText("It is on this computer.")).toBeVisible();
  await dialog.getByRole("textbox", { name: "Cores" }).fill("4000");
  await dialog.getByRole("textbox", { name: "Memory" }).fill("lots");
  await expect(dialog.getByText("2 fields need a fix")).toBeVisible();
  await expect(start).toBeDisabled();
  expect(await containers(home), "looking makes nothing").toBe("");

  await dialog.getByRole("textbox", { name: "Cores" }).fill("0.5");
  await dialog.getByRole("textbox", { name: "Memory" }).fill("1");
  await dialog.getByRole("radio", { name: "Off" }).click();
  await dialog.getByRole("checkbox", { name: /write only there/ }).click();
  await expect(start).toBeEnabled();
  await start.click();
  await expect(dialog).toHaveCount(0, { timeout: 60_000 });

  const format = "{{.HostConfig.NanoCpus}} {{.HostConfig.Memory}} {{.HostConfig.NetworkMode}} {{.HostConfig.ReadonlyRootfs}}";
  expect(await docker("inspect", await containers(home), "--format", format)).toBe("500000000 1000000000 none true");
  await cell.locator(".cell__gutter").click();
  await page.keyboard.press("Control+Enter");
  await expect(cell.locator(".cell__out")).toContainText(`${PERSON} /work 2 ['lo']`, { timeout: 60_000 });

  await page.keyboard.press("Control+s");
  await expect(page.getByLabel("Status")).toContainText("Saved");
  await page.keyboard.press("Control+w");
  await expect.poll(() => containers(home), { timeout: 60_000 }).toBe("");
});
