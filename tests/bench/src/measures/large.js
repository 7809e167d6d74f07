// Notebooks that are large: opening, memory, scrolling, typing and inserting in the middle, saving.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

import { bare } from "../applications/bare.js";
import { jupyterlab } from "../applications/jupyterlab.js";
import { sandbook } from "../applications/sandbook.js";
import * as person from "../person.js";
import { sleep } from "../processes.js";
import { alternate, session, settledMemory } from "./session.js";

const MIDDLE = 500;
const TEXT = "# the quick brown fox jumps over the lazy dog and then it types some more ";

function opened(record, name, rounds, then = async () => undefined) {
  const measure = `open_${name}`;
  return alternate(record, measure, [sandbook, jupyterlab], rounds, (application, round) =>
    session(application, [name], {}, async (parts) => {
      await parts.running.boot(parts.page);
      const took = await person.open(parts.page, parts.running, name);
      record.add(measure, application.name, "first cell", "s", took.first);
      record.add(measure, application.name, "typing", "s", took.typing);
      await then(application, parts, round);
    }),
  );
}

export const open1000 = ({ record, quick }) => opened(record, "cells1000", quick ? 1 : 3);
export const open5000 = ({ record, quick }) => opened(record, "cells5000", quick ? 1 : 2);

/** 100 MB: opened, its memory over an empty notebook's, and saved after one character. */
export async function open100MB({ record, quick }) {
  let empty = 0;
  await record.part("open_large", "sandbook", () =>
    session(sandbook, ["empty"], {}, async ({ running, page, browser }) => {
      await running.boot(page);
      await person.open(page, running, "empty");
      await page.evaluate(() => window.__probe.quiet(1000));
      empty = await settledMemory(browser, running);
    }),
  );
  await opened(record, "large", quick ? 1 : 2, async (application, { running, page, browser, home }) => {
    if (application !== sandbook) return;
    const file = `${home.notebooks}/large.ipynb`;
    await page.evaluate(() => window.__probe.quiet(1000));
    const size = readFileSync(file).length / 1024 / 1024;
    const grown = (await settledMemory(browser, running)) - empty;
    record.add("open_large", "sandbook", "memory over an empty notebook", "MB", grown);
    record.add("open_large", "sandbook", "size of the file", "MB", size);
    // Memory that a machine touches for the first time costs more than the write: the middle of many tells.
    for (let round = 0; round < (quick ? 3 : 12); round++) {
      await person.enter(page, 0);
      await page.keyboard.type("#");
      await sleep(300);
      record.add("save", "sandbook", "100 MB after one character", "ms", await person.save(page));
      record.add("save", "raw", "copy and fsync", "ms", copied(file, `${home.notebooks}/copy`));
    }
  });
}

function copied(from, to) {
  const began = performance.now();
  const bytes = readFileSync(from);
  const target = openSync(to, "w");
  for (let at = 0; at < bytes.length;) at += writeSync(target, bytes, at);
  fsyncSync(target);
  closeSync(target);
  return performance.now() - began;
}

export function scroll({ record, quick }) {
  return alternate(record, "scroll", [sandbook], quick ? 1 : 2, (application) =>
    session(application, ["cells1000"], {}, async ({ running, page }) => {
      await running.boot(page);
      await person.open(page, running, "cells1000");
      await page.evaluate(() => window.__probe.quiet(1000));
      const seen = await page.evaluate(() => window.__probe.scroll(window.__app.scroller(), 240, 60_000));
      record.add(
        "scroll",
        application.name,
        "worst frame gap",
        "ms",
        seen.worst,
        seen.reached ? "" : "end not reached",
      );
      const share = (100 * seen.heightAtStart) / seen.heightAtEnd;
      record.add("scroll", application.name, "height known at the start", "%", share, `${seen.heightAtEnd} px`);
    }),
  );
}

/** Keys into the middle of 1,000 cells, then cells inserted there. */
export function middle({ record, quick }) {
  return alternate(record, "middle", [bare, sandbook, jupyterlab], quick ? 1 : 2, (application) =>
    session(application, application === bare ? [] : ["cells1000"], {}, async ({ running, page }) => {
      if (application === bare) {
        const source =
          "# step INDEX\nvalue_INDEX = sum(k * k for k in range(3))\nfor k in range(3):\n    print('step INDEX', k, value_INDEX)";
        await running.show(page, { cells: 1000, editors: 0, source });
      } else {
        await running.boot(page);
        await person.open(page, running, "cells1000");
        await page.evaluate(
          (i) => window.__probe.when(() => window.__app.node(i + 20).isConnected, 90_000, false),
          MIDDLE,
        );
      }
      await person.kernelIsReady(page);
      await page.evaluate((i) => window.__app.reveal(i), MIDDLE);
      // JupyterLab goes on attaching cells for a minute and more.
      await page.evaluate(() => window.__probe.quiet(1000, 15_000).catch(() => undefined));
      await typed(record, application, page, quick ? 60 : 200);
      if (application !== bare) await inserted(record, application, page, 3);
    }),
  );
}

async function typed(record, application, page, count) {
  await person.enter(page, MIDDLE);
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Enter");
  await sleep(300);
  await page.evaluate(() => window.__probe.watchTyping());
  for (const character of TEXT.repeat(4).slice(0, count)) {
    await page.keyboard.type(character);
    await sleep(40);
  }
  await sleep(300);
  const keys = await page.evaluate(() => window.__probe.keys);
  if (keys.length < count * 0.9) throw new Error(`${keys.length} of ${count} keys were seen`);
  record.add(
    "middle",
    application.name,
    "key in the page",
    "ms",
    keys.map(([shown]) => shown),
  );
  record.add(
    "middle",
    application.name,
    "key painted",
    "ms",
    keys.map(([, painted]) => painted),
  );
}

async function inserted(record, application, page, count) {
  for (let round = 0; round < count; round++) {
    await page.keyboard.press("Escape");
    await sleep(500);
    const times = page.evaluate(async () => {
      const before = window.__app.count();
      let key = 0;
      window.addEventListener("keydown", (event) => (key = event.timeStamp), { capture: true, once: true });
      const there = await window.__probe.when(() => window.__app.count() === before + 1 && isThere(), 20_000);
      return { shown: there - key, painted: (await window.__probe.painted()) - key };

      function isThere() {
        const active = document.activeElement;
        const node = active?.closest?.("article, .jp-Cell") ?? document.querySelector(".jp-Cell.jp-mod-active");
        return node !== null && node.getBoundingClientRect().height > 5;
      }
    });
    times.catch(() => undefined);
    await sleep(50);
    await page.keyboard.press("b");
    const { shown, painted } = await times;
    record.add("middle", application.name, "cell inserted", "ms", shown);
    record.add("middle", application.name, "inserted cell painted", "ms", painted);
  }
}
