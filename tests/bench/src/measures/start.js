// From starting the program to a cell that takes typing, and to a result; the memory all of it takes.

import { jupyterlab } from "../applications/jupyterlab.js";
import { sandbook } from "../applications/sandbook.js";
import { openWindow } from "../applications/window.js";
import { Browser } from "../browser.js";
import * as person from "../person.js";
import { Home, sleep } from "../processes.js";
import { write } from "../workloads.js";
import { alternate } from "./session.js";

export async function start({ record, quick }) {
  const applications = [sandbook, jupyterlab];
  if (process.env.DISPLAY) applications.push({ name: "window" });
  else record.fail("start", "window", "there is no display");
  await alternate(record, "start", applications, quick ? 1 : 3, (application) =>
    application.name === "window" ? inWindow(record) : inBrowser(record, application),
  );
}

/** The browser is there before the clock starts. */
async function inBrowser(record, application) {
  const home = new Home();
  write(home.notebooks, ["small"]);
  const browser = await Browser.launch(application);
  const { page } = browser;
  let running;
  try {
    await page.goto("about:blank");
    await sleep(1500);
    const blank = browser.memory();
    const began = performance.now();
    const since = () => (performance.now() - began) / 1000;
    running = await application.start({ home, notebook: "small" });
    await page.goto(running.address ? running.address("small") : running.url, { waitUntil: "commit" });
    await page.evaluate(() => window.__probe.when(() => window.__app.booted() && window.__app.firstVisible()));
    await person.typeAtOnce(page);
    record.add("start", application.name, "typing", "s", since());
    await pressUntilShown(page);
    record.add("start", application.name, "print(1) shown", "s", since());
    await sleep(4000);
    const [inPage, inProgram] = [browser.memory() - blank, running.memory()];
    record.add("memory", application.name, "growth", "MB", inPage + inProgram);
    record.add("memory", application.name, "of it the page", "MB", inPage);
    record.add("memory", application.name, "of it the program", "MB", inProgram);
    record.add("memory", application.name, "in total", "MB", blank + inPage + inProgram);
  } finally {
    await browser.close();
    await running?.stop();
    await home.remove();
  }
}

/** A press that comes before the kernel can be lost in JupyterLab, and a person presses again. */
async function pressUntilShown(page) {
  for (let round = 0; round < 8; round++) {
    await person.enter(page, 0);
    await page.keyboard.press("Shift+Enter");
    const isOne = () => window.__probe.tail(window.__app.output(0)).trim() === "1";
    const shown = page.evaluate(`window.__probe.when(${isOne}, 4000).then(() => true, () => false)`);
    if (await shown) return;
  }
  throw new Error("print(1) showed nothing");
}

async function inWindow(record) {
  const home = new Home();
  write(home.notebooks, ["small"]);
  try {
    const window = await openWindow(home, `${home.notebooks}/small.ipynb`);
    record.add("start", "window", "typing", "s", await window.typing());
    record.add("start", "window", "print(1) shown", "s", await window.print());
    await sleep(4000);
    record.add("memory", "window", "window and program in total", "MB", window.memory());
    await window.close();
  } finally {
    await home.remove();
  }
}
