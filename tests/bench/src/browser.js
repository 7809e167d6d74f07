// A browser with an empty profile, its page prepared with the probe and with an application's eyes.

import { readFileSync } from "node:fs";

import { chromium } from "playwright-core";

import { memory, sleep, tree } from "./processes.js";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const PROBE = readFileSync(new URL("./probe.js", import.meta.url), "utf8");

export class Browser {
  static async launch(application) {
    const server = await chromium.launchServer({
      executablePath: process.env.SANDBOOK_TEST_CHROMIUM ?? "/usr/bin/chromium",
      headless: true,
      args: ARGUMENTS,
    });
    const client = await chromium.connect(server.wsEndpoint());
    const context = await client.newContext({ viewport: { width: 1280, height: 900 } });
    await context.addInitScript(PROBE);
    await context.addInitScript(application.eyes);
    const browser = new Browser();
    browser.version = client.version();
    browser.page = await context.newPage();
    browser.page.setDefaultTimeout(120_000);
    browser.memory = () => memory(tree(server.process().pid));
    browser.close = async () => {
      await Promise.race([client.close().catch(() => undefined), sleep(5000)]);
      await Promise.race([server.close().catch(() => undefined), sleep(5000)]);
      if (server.process().exitCode === null) server.kill();
    };
    return browser;
  }
}
