// Much output: lines, one long line, redraws, images, frames. What counts as kept is what the saved file holds.

import { readFileSync } from "node:fs";

import { jupyterlab } from "../applications/jupyterlab.js";
import { sandbook } from "../applications/sandbook.js";
import * as person from "../person.js";
import { Home } from "../processes.js";
import { CELLS } from "../workloads.js";
import { session, settledMemory } from "./session.js";
import { raw } from "./wire.js";

async function throwAway(record, name) {
  const home = new Home();
  try {
    const { run } = await raw(home, ["run", "-n", "1"], CELLS[name].code);
    record.add(name, "raw", "done", "s", run);
  } finally {
    await home.remove();
  }
}

/** Runs the cell in an application and records what it took. `check` looks closer before the session ends. */
function shown(record, name, application, options, check) {
  return session(application, [name], options, async ({ running, browser, page, home }) => {
    await running.boot(page);
    await person.open(page, running, name);
    await person.startKernel(page);
    const before = await settledMemory(browser, running);
    let peak = 0;
    const sampling = setInterval(() => (peak = Math.max(peak, browser.memory() + running.memory())), 2000);
    const took = await person.runToEnd(page, 1, 240).finally(() => clearInterval(sampling));
    peak = Math.max(peak, await settledMemory(browser, running));
    const { end, cut } = CELLS[name];
    if (end && !(cut && application === sandbook) && !took.end.endsWith(end))
      throw new Error(`the last line is not shown, but “${took.end.slice(-60)}”`);
    record.add(name, application.name, "done", "s", took.done);
    record.add(name, application.name, "page at rest", "s", took.rest);
    record.add(name, application.name, "worst frame gap", "ms", took.gap);
    record.add(name, application.name, "memory growth", "MB", peak - before);
    await check?.({ page, home, took });
  });
}

const saved = (home, name) => JSON.parse(readFileSync(`${home.notebooks}/${name}.ipynb`, "utf8")).cells[1].outputs;

/** The share of a text that the saved file holds. */
async function keepsText(record, name, page, home) {
  await person.save(page);
  const text = saved(home, name)
    .map((output) => [output.text ?? []].flat().join(""))
    .join("");
  const whole = text.length === CELLS[name].characters && text.trimEnd().endsWith(CELLS[name].end);
  record.add(
    name,
    "sandbook",
    "kept",
    "%",
    (100 * text.length) / CELLS[name].characters,
    whole ? "" : "not the same text",
  );
}

export async function lines({ record, quick }) {
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    await record.part("lines", "raw", () => throwAway(record, "lines"));
    await record.part("lines", "sandbook", () =>
      shown(record, "lines", sandbook, {}, ({ page, home }) => keepsText(record, "lines", page, home)),
    );
  }
}

export async function longLine({ record, quick }) {
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    await record.part("long_line", "sandbook", () =>
      shown(record, "long_line", sandbook, {}, ({ page, home }) => keepsText(record, "long_line", page, home)),
    );
    if (round > 0) continue; // it takes a minute there
    await record.part("long_line", "jupyterlab", () => shown(record, "long_line", jupyterlab, { unlimited: true }));
  }
}

export async function redraws({ record, quick }) {
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    await record.part("redraws", "raw", () => throwAway(record, "redraws"));
    await record.part("redraws", "sandbook", () => shown(record, "redraws", sandbook, {}));
  }
}

/** Rich outputs: all kept in the file, all in the page, and those looked at by scrolling are drawn. */
/** A run of half a second meets whatever else the machine does: its median needs some rounds. */
function rich(name, drawn) {
  return async ({ record, quick }) => {
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      await record.part(name, "raw", () => throwAway(record, name));
      await record.part(name, "sandbook", () =>
        shown(record, name, sandbook, {}, async ({ page, home, took }) => {
          const all = CELLS[name].outputs;
          record.add(name, "sandbook", "in the page", "outputs", took.outputs);
          const missing = await page.evaluate(looked, [all, drawn]);
          record.add(name, "sandbook", "not drawn when reached", "outputs", missing.length, missing.join(" "));
          await person.save(page);
          record.add(name, "sandbook", "kept", "outputs", saved(home, name).length);
        }),
      );
    }
  };
}

/** Runs in the page: goes to every fiftieth output and the last, and answers which were not drawn within five seconds. */
async function looked([all, selector]) {
  const missing = [];
  const outputs = window.__app.node(1).querySelectorAll(".out");
  const isDrawn = (node) =>
    node !== null && (node.naturalWidth > 0 || (node.localName === "iframe" && node.offsetHeight > 40));
  for (let at = 0; at < all + 49; at += 50) {
    const index = Math.min(at, all - 1);
    outputs[index]?.scrollIntoView({ block: "center" });
    const there = window.__probe.when(() => isDrawn(outputs[index].querySelector(selector)), 5000, false);
    await there.catch(() => missing.push(index));
  }
  return missing;
}

export const images = rich("images", "img");
export const frames = rich("frames", "iframe");
