// Sandbook in web mode: the release program with an owner process of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { Home, memory, within } from "../processes.js";

/** Runs in the page: where to look. */
function eyes() {
  // The live collection is kept by the browser; asking for it costs nothing, however many cells there are.
  const cells = document.getElementsByTagName("article");
  const status = () => document.querySelector("[data-region=status]")?.textContent ?? "";
  window.__app = {
    booted: () => status() !== "" && !/connecting/i.test(status()) && document.querySelector(".title__tabs") !== null,
    firstVisible: () => window.__probe.isVisible(cells[0]),
    source: (i) => cells[i]?.querySelector(".cm-content, .src"),
    output: (i) => cells[i]?.querySelector(".cell__out"),
    outputs: (i) => cells[i]?.querySelectorAll(".out").length ?? 0,
    prompt: (i) => cells[i]?.querySelector(".cell__n"),
    count: () => cells.length,
    node: (i) => cells[i],
    ran: (i) => /is-(done|error|stopped)/.test(cells[i].className) && cells[i].querySelector(".cell__t") !== null,
    reveal: (i) => cells[i].scrollIntoView({ block: "center" }),
    unsaved: () => /Unsaved|Not saved/.test(status()),
    scroller: () => document.querySelector("section.nb"),
  };
}

class Running {
  constructor(home, child, url) {
    this.home = home;
    this.child = child;
    this.url = url;
    this.folder = home.notebooks;
  }

  memory() {
    return memory(this.home.running());
  }

  async boot(page) {
    await page.goto(this.url, { waitUntil: "commit" });
    await page.evaluate(() => window.__probe.when(() => window.__app.booted()));
    await page.evaluate(() => window.__probe.quiet(500));
  }

  /** Opens a notebook as a person does who types its path. Answers the page's time of the key. */
  async open(page, name) {
    await page.keyboard.press("Control+o");
    const field = page.getByLabel("Folder", { exact: true });
    await field.fill(`${this.folder}/${name}.ipynb`);
    await page.keyboard.press("Enter");
    return page.evaluate(() => window.__probe.lastEnter);
  }

  async stop() {
    this.child.kill("SIGINT");
    await this.home.remove();
  }
}

async function start({ home = new Home(), notebook } = {}) {
  const words = ["web", "--port", "0", "--json", ...(notebook ? [`${home.notebooks}/${notebook}.ipynb`] : [])];
  const child = spawn(process.env.SANDBOOK_BENCH_PROGRAM, words, {
    cwd: home.notebooks,
    env: home.environment,
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, "exit").then(() => Promise.reject(new Error("`sandbook web` ended at once")));
    ended.catch(() => undefined);
    const [line] = await within(Promise.race([once(lines, "line"), ended]), 30, "the address of web mode");
    return new Running(home, child, JSON.parse(line).url);
  } catch (error) {
    await home.remove();
    throw error;
  }
}

export const sandbook = { name: "sandbook", eyes, start };
