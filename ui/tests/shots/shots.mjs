// Pictures of the fixture's scenes: node tests/shots/shots.mjs OUT [scene…]. Needs Chromium at /usr/bin/chromium.
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { createServer } from "vite";

const [out = "test-results/shots", ...wanted] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const server = await createServer({ server: { port: 0, strictPort: false }, logLevel: "error" });
await server.listen();
const base = server.resolvedUrls?.local[0];
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });

const press = (key) => async (page) => page.keyboard.press(key);
const SCREENS = {
  start: { scene: "start" },
  empty: { scene: "empty" },
  workbench: { scene: "workbench" },
  outputs: { scene: "outputs" },
  "outputs-end": { scene: "outputs", act: async (page) => page.locator(".nb").evaluate((n) => (n.scrollTop = 99999)) },
  died: { scene: "died" },
  reconnecting: { scene: "reconnecting" },
  new: { scene: "new" },
  edit: {
    scene: "outputs",
    act: async (page) => {
      await page.locator(".still").nth(1).click();
      await page.keyboard.type("\nplt.ti");
    },
  },
  palette: {
    scene: "workbench",
    act: async (page) => {
      await press("Control+k")(page);
      await page.keyboard.type("run");
    },
  },
  shortcuts: {
    scene: "workbench",
    act: async (page) => {
      await page
        .locator("article")
        .first()
        .click({ position: { x: 20, y: 20 } });
      await press("h")(page);
    },
  },
  find: {
    scene: "outputs",
    act: async (page) => {
      await press("Control+Shift+f")(page);
      await page.keyboard.type("clean");
      await page.waitForTimeout(400);
    },
  },
  "find-sidebar": {
    scene: "outputs",
    width: 1100,
    act: async (page) => {
      await press("Control+Shift+f")(page);
      await page.keyboard.type("clean");
      await page.waitForTimeout(400);
    },
  },
  "find-800": {
    scene: "outputs",
    width: 800,
    act: async (page) => {
      await press("Control+Shift+f")(page);
      await page.keyboard.type("clean");
      await page.waitForTimeout(400);
    },
  },
  settings: { scene: "workbench", act: press("Control+,") },
  connect: { scene: "start", act: async (page) => page.getByLabel("Add a server").click() },
  runtime: { scene: "workbench", act: async (page) => page.locator(".pill").click() },
  sandbox: { scene: "new", act: async (page) => page.locator(".pill").click() },
  open: { scene: "workbench", act: press("Control+o") },
  logs: { scene: "workbench", act: press("Control+j") },
  narrow: { scene: "workbench", width: 900 },
  "narrow-drawer": {
    scene: "workbench",
    width: 900,
    act: async (page) => page.locator(".rail button").first().click(),
  },
  long: { scene: "long" },
  tabs: { scene: "tabs", width: 1280 },
  "tabs-narrow": {
    scene: "tabs",
    width: 860,
    act: async (page) => {
      await page.locator("[role=tab]").nth(7).click();
      await page.locator(".title__tabs").hover();
      await page.mouse.wheel(0, 200);
    },
  },
  "close-running": {
    scene: "workbench",
    act: async (page) => page.evaluate(() => (desk.overlay = { kind: "close", notebook: desk.notebook.id })),
  },
  "workbench-hc": { scene: "outputs", themes: ["high-contrast"] },
  "start-hc": { scene: "start", themes: ["high-contrast"] },
  smallest: { scene: "workbench", width: 720, height: 520, themes: ["light"] },
  "smallest-connect": {
    scene: "start",
    width: 720,
    height: 520,
    themes: ["light"],
    act: async (page) => page.getByLabel("Add a server").click(),
  },
};

for (const [name, screen] of Object.entries(SCREENS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const theme of screen.themes ?? ["light", "dark"]) {
    const page = await browser.newPage({ viewport: { width: screen.width ?? 1440, height: screen.height ?? 900 } });
    page.on("pageerror", (error) => console.log(name, "page error:", error.message));
    page.on("console", (m) => m.type() === "error" && console.log(name, "console:", m.text()));
    await page.goto(`${base}tests/fixture/?scene=${screen.scene}&theme=${theme}`);
    await page.waitForSelector(".status");
    await page.waitForTimeout(500);
    if (screen.act) await screen.act(page);
    await page.waitForTimeout(300);
    await page.screenshot({ path: `${out}/${name}.${theme}.png` });
    await page.close();
  }
}
await browser.close();
await server.close();
