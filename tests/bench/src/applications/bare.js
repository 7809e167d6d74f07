// The least a page can be: CodeMirror editors, a WebSocket, and a few lines that put the result below. What it takes is what
// the browser, CodeMirror and the kernel take.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { Home, within } from "../processes.js";

const here = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Runs in the page. */
function eyes() {
  const cells = document.getElementsByTagName("article");
  window.__app = {
    booted: () => window.bareIsReady === true,
    source: (i) => cells[i]?.querySelector(".cm-content, pre"),
    output: (i) => cells[i]?.querySelector("output"),
    count: () => cells.length,
    ran: (i) => /\d/.test(cells[i].querySelector("span").textContent),
    ready: () => window.bareIsReady === true,
    reveal: (i) => cells[i].scrollIntoView({ block: "center" }),
  };
}

class Running {
  constructor(home, port) {
    this.home = home;
    this.base = `http://127.0.0.1:${port}/`;
  }

  /** `editors` of the cells are editors from the start, the others when somebody goes into them. */
  async show(page, { cells, editors, source }) {
    const query = new URLSearchParams({ cells: String(cells), editors: String(editors), source });
    await page.goto(`${this.base}?${query.toString()}`, { waitUntil: "commit" });
    await page.evaluate(() => window.__probe.when(() => window.__app.booted()));
    await page.evaluate(() => window.__probe.quiet(500));
  }

  stop() {
    return this.home.remove();
  }
}

async function start() {
  const home = new Home();
  const words = [here("python/bridge.py"), here("bare"), here("../../ui/node_modules")];
  const child = spawn(process.env.SANDBOOK_BENCH_PYTHON, words, {
    cwd: home.notebooks,
    env: home.environment,
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [line] = await within(once(createInterface({ input: child.stdout }), "line"), 60, "the bare page's server");
    return new Running(home, Number(line));
  } catch (error) {
    await home.remove();
    throw error;
  }
}

export const bare = { name: "bare", eyes, start };
