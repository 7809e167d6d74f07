// Each screen as a person sees it, light and dark, made from the running app.

import { type ChildProcess, spawn } from "node:child_process";
import { chown, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { ColabTab, tokenUntil } from "../src/cloud.ts";
import type { Home } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

/** A real server of one picture, which can be made to stand still. */
class JupyterServer {
  private constructor(
    private readonly child: ChildProcess,
    readonly address: string,
  ) {}

  static async start(home: Home): Promise<JupyterServer> {
    const python = process.env["SANDBOOK_TEST_PYTHON"] ?? "python3";
    const words = ["-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.port=8899"];
    const environment = { ...home.environment, JUPYTER_TOKEN: "not-a-real-token", JUPYTER_NO_CONFIG: "1" };
    const child = spawn(python, words, { cwd: home.notebooks, env: environment, stdio: "ignore" });
    for (let round = 0; round < 100; round++) {
      const there = await fetch("http://127.0.0.1:8899/api").then(
        (answer) => answer.ok,
        () => false,
      );
      if (there) return new JupyterServer(child, "http://127.0.0.1:8899/lab?token=not-a-real-token");
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error("the Jupyter server did not start");
  }

  pause(): void {
    this.child.kill("SIGSTOP");
  }

  stop(): void {
    this.child.kill("SIGKILL");
  }
}

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

/** The answer to `import os; os.kill(…)`: a kernel that a person can look at dying. */
const DEATH = "print('about to run out of memory', flush=True)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)";

for (const scheme of ["light", "dark"] as const) {
  test(`questions and trouble, ${scheme}`, async ({ open, page }) => {
    await page.emulateMedia({ colorScheme: scheme });
    const { path } = await open(["name = input('Whose data? ')", DEATH, "trips = 41\ntrips + 1"]);
    const cells = page.locator("article.cell");
    await cells.nth(0).locator(".cell__gutter").click();
    await palette(page, "choose a sandbox");
    await page.keyboard.press("Enter");
    await picture(page, "choose-sandbox", scheme);
    await page.keyboard.press("Escape");
    await cells.nth(0).locator(".cell__gutter").click();
    await page.keyboard.press("Shift+Enter");
    await expect(cells.nth(0)).toHaveClass(/is-input/, { timeout: 60_000 });
    await picture(page, "input", scheme);
    await page.keyboard.type("Ada");
    await page.keyboard.press("Enter");
    await expect(cells.nth(0)).toHaveClass(/is-done/);
    await cells.nth(1).locator(".cell__gutter").click();
    await page.keyboard.press("Shift+Enter");
    await expect(page.locator(".post, [class*=mortem]").or(page.getByText(/kernel died/i)).first()).toBeVisible({
      timeout: 30_000,
    });
    await picture(page, "kernel-died", scheme);
    await cells.nth(2).locator(".src").click();
    await page.keyboard.type("# mine\n");
    await writeFile(path, (await readFile(path, "utf8")).replace("41", "42"));
    await page.keyboard.press("Control+s");
    await expect(page.getByRole("alertdialog")).toBeVisible();
    await picture(page, "changed-on-disk", scheme);
    await page.keyboard.press("Escape");
    await palette(page, "keyboard");
    await page.keyboard.press("Enter");
    await picture(page, "keyboard", scheme);
  });

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

  test(`a Jupyter server, ${scheme}`, async ({ open, page, home }) => {
    await page.emulateMedia({ colorScheme: scheme });
    const server = await JupyterServer.start(home);
    try {
      await open(["import time\nfor step in range(600):\n    print('step', step, flush=True)\n    time.sleep(0.5)"]);
      await page.locator(".cell__gutter").first().click();
      await palette(page, "choose a sandbox");
      await page.keyboard.press("Enter");
      await page.getByText("Add a Jupyter server").click();
      await page.getByRole("textbox", { name: "Address" }).fill(server.address);
      await page.keyboard.press("Enter");
      await expect(page.getByRole("button", { name: "Start kernel" })).toBeEnabled({ timeout: 20_000 });
      await picture(page, "connect", scheme);
      await page.getByRole("button", { name: "Start kernel" }).click();
      await expect(page.getByRole("dialog")).toHaveCount(0, { timeout: 30_000 });
      await page.locator(".cell__gutter").first().click();
      await page.keyboard.press("Control+Enter");
      await expect(page.getByText("step 3")).toBeVisible({ timeout: 30_000 });
      server.pause();
      await expect(page.getByText(/reconnecting/i).first()).toBeVisible({ timeout: 30_000 });
      await picture(page, "reconnecting", scheme);
    } finally {
      server.stop();
    }
  });

  test(`a container, ${scheme}`, async ({ open, page, home }) => {
    await page.emulateMedia({ colorScheme: scheme });
    home.variables["DOCKER_HOST"] = process.env["SANDBOOK_TEST_DOCKER"] ?? "";
    await chown(home.notebooks, 1234, 1234);
    await open(["1 + 1"]);
    await page.locator(".cell__gutter").first().click();
    await palette(page, "choose a sandbox");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: /Docker container/ }).click();
    const dialog = page.getByRole("dialog", { name: "Start a container" });
    await dialog.getByRole("textbox", { name: "Cores" }).fill("1.5");
    await dialog.getByRole("textbox", { name: "Memory" }).fill("4");
    await dialog.getByRole("radio", { name: "Listed hosts" }).click();
    for (const host of ["pypi.org", "files.pythonhosted.org", "api.open-meteo.com"]) {
      await dialog.getByRole("textbox", { name: "Allowed host" }).fill(host);
      await page.keyboard.press("Enter");
    }
    await dialog.getByRole("button", { name: "Share another folder" }).click();
    await dialog.getByRole("textbox", { name: "Folder of this computer" }).fill("~/.ssh");
    await dialog.getByRole("textbox", { name: "Where it is in the container" }).fill("/keys");
    await expect(dialog.getByText(/needs? a fix/)).toBeVisible();
    await picture(page, "container", scheme);
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

  test(`the kernel of a Colab tab, ${scheme}`, async ({ open, page, context, home }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.emulateMedia({ colorScheme: scheme });
    const token = tokenUntil(Date.now() + 4.9 * 60_000);
    const tab = await ColabTab.open(home, token);
    const paste = async (text: string): Promise<void> => {
      await page.evaluate((words) => navigator.clipboard.writeText(words), text);
      await page.keyboard.press("Control+v");
    };
    try {
      await open(["import platform\nplatform.python_version()"]);
      await page.locator(".cell__gutter").first().click();
      await palette(page, "choose a sandbox");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Google Colab" }).click();
      const link = page.getByRole("textbox", { name: "Channels link" });
      await link.click();
      await paste(tab.link("another-token"));
      await page.getByRole("button", { name: "Connect" }).click();
      await expect(page.locator(".field__error")).toBeVisible();
      await picture(page, "colab-refused", scheme);
      await page.getByRole("tab", { name: "Kaggle" }).click();
      await picture(page, "kaggle", scheme);
      await page.getByRole("tab", { name: "Google Colab" }).click();
      await link.click();
      await paste(tab.link(token));
      await page.getByRole("button", { name: "Connect" }).click();
      await expect(page.getByRole("dialog")).toHaveCount(0, { timeout: 30_000 });
      await page.locator(".cell__gutter").first().click();
      await page.keyboard.press("Control+Enter");
      await expect(page.locator(".banner")).toContainText("ends");
      await picture(page, "link-ends", scheme);
      await tab.changeToken("nobody-knows-it");
      await expect(page.locator(".banner")).toContainText("not taken any more");
      await page.getByRole("button", { name: "Paste a fresh link…" }).click();
      await picture(page, "fresh-link", scheme);
    } finally {
      tab.close();
    }
  });
}
