// What is set on the settings page counts at once, is in the file, and is so again when the page is opened anew.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import type { Home } from "../src/sandbook.ts";
import { expect, test } from "../src/test.ts";

const file = (home: Home): string => join(home.environment["XDG_CONFIG_HOME"] ?? "", "sandbook", "settings.toml");

/** What the page is made of in this look: the paper, the text and the accent, as the browser computes them. */
const tokens = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    ["--surface-doc", "--text", "--accent", "--focus"].map((name) => {
      const probe = document.createElement("i");
      probe.style.color = `var(${name})`;
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    }),
  );

const look = (page: Page): Promise<string | undefined> => page.evaluate(() => document.documentElement.dataset["theme"]);

test("theme and code size are changed on the page, seen at once, and kept", async ({ home, open }) => {
  const { page } = await open(["x = 1"]);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.keyboard.press("Control+,");
  const choose = (name: string) => page.getByRole("radio", { name }).click();
  const seen: (readonly string[])[] = [];
  for (const [name, theme] of [
    ["Light", "light"],
    ["Dark", "dark"],
    ["High contrast", "hc"],
  ] as const) {
    await choose(name);
    await expect.poll(() => look(page)).toBe(theme);
    await expect(page.getByRole("radio", { name })).toBeChecked();
    seen.push(await tokens(page));
  }
  const [light, dark, contrast] = seen;
  for (const [one, other] of [
    [light, dark],
    [light, contrast],
    [dark, contrast],
  ] as const) {
    expect(one?.filter((colour, i) => colour === other?.[i]), "no two looks share one of these colours").toEqual([]);
  }
  expect(contrast?.[0], "paper is black in high contrast").toBe("rgb(0, 0, 0)");

  await choose("Light");
  await page.getByText("Follow the system").click();
  await expect.poll(() => look(page)).toBe("dark");
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(() => look(page), "the page goes with the system").toBe("light");
  await choose("High contrast");
  await page.getByLabel("Code size").selectOption("18");
  await expect.poll(() => readFile(file(home), "utf8")).toMatch(/theme = "high-contrast"\n[^]*font_size = 18/);

  await page.reload();
  await expect.poll(() => look(page)).toBe("hc");
  await expect(page.locator("article.cell .src").first()).toHaveCSS("font-size", "18px");
});

test("a notebook saves itself until that is switched off on the page, and then no more", async ({ home, open }) => {
  const { page, path } = await open(["x = 1"]);
  const status = page.getByLabel("Status");
  const edit = async (text: string): Promise<void> => {
    await page.locator("article.cell").first().locator(".cell__src").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(text);
  };
  await edit("\ny = 2");
  await expect.poll(() => readFile(path, "utf8")).toContain("y = 2");

  await page.keyboard.press("Control+,");
  await page.getByRole("tab", { name: "Notebook", exact: true }).click();
  await page.getByRole("switch", { name: "Save by itself" }).click();
  await expect(page.getByLabel("Save after a pause of")).toHaveCount(0);
  await expect.poll(() => readFile(file(home), "utf8")).toMatch(/\[autosave\][^[]*enabled = false/);
  await page.reload();
  await edit("\nz = 3");
  await expect(status).toContainText("Unsaved changes");
  await page.waitForTimeout(3500);
  await expect(status, "two seconds of quiet have passed").toContainText("Unsaved changes");
  expect(await readFile(path, "utf8")).not.toContain("z = 3");
  await page.keyboard.press("Control+s");
  await expect.poll(() => readFile(path, "utf8")).toContain("z = 3");
});

test("the Logs panel shows what happens, and which run a line is about", async ({ home, open }) => {
  await mkdir(join(file(home), ".."), { recursive: true });
  await writeFile(file(home), "format = 1\n\n[limits]\nexecution_megabytes = 1\n");
  const { page } = await open(["for part in range(30):\n    print('x' * 100_000)"]);
  await page.locator("article.cell .cell__gutter").first().click();
  await page.keyboard.press("Control+j");
  const lines = page.getByRole("log", { name: "Log lines" });
  await page.locator("article.cell .cell__gutter").first().click();
  await page.keyboard.press("Control+Enter");
  await expect(lines).toContainText(/\d\d:\d\d:\d\d INFO .*a sandbox started/);
  const limit = lines.locator(".logs__l", { hasText: "a limit of kept output is reached" });
  const key = await page.locator("article.cell").first().getAttribute("data-key");
  await expect(limit).toContainText("WARN");
  await expect(limit).toContainText(new RegExp(`\\[execution, id [0-9a-f]{32}, document \\S+, cell ${key}\\]`));

  await page.getByRole("radio", { name: "Warnings" }).click();
  await expect(lines).not.toContainText("a sandbox started");
  await expect(limit).toBeVisible();
});
