// Measures what was asked for, prints the table, writes the numbers; a whole run also writes docs/performance.md.
//
//     node src/run.js [--quick] [--only NAME]... [--add]
//
// Peers are compared within a measure, so measures can be taken at different times: --add keeps what earlier runs measured of
// the others, and writes the page.
//
// `cargo xtask bench` sets the environment: SANDBOOK_BENCH_PYTHON, _PROGRAM, _WINDOW, _EXAMPLES, _OUT.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { command } from "./measures/command.js";
import { container } from "./measures/container.js";
import { frames, images, lines, longLine, redraws } from "./measures/flood.js";
import { middle, open1000, open100MB, open5000, scroll } from "./measures/large.js";
import { runCell } from "./measures/run_cell.js";
import { start } from "./measures/start.js";
import { bridge, kernel, monty, paste, websocket, zeromq } from "./measures/wire.js";
import { Record } from "./record.js";
import { conditions, print, rows, writePage } from "./report.js";

/** By name: what does it, and the measures it gives values to. */
const MEASURES = {
  websocket: [websocket, "websocket"],
  zeromq: [zeromq, "zeromq"],
  bridge: [bridge, "bridge"],
  kernel: [kernel, "kernel"],
  monty: [monty, "monty"],
  paste: [paste, "paste"],
  container: [container, "container"],
  command: [command, "command"],
  run_cell: [runCell, "run_cell"],
  lines: [lines, "lines"],
  long_line: [longLine, "long_line"],
  redraws: [redraws, "redraws"],
  images: [images, "images"],
  frames: [frames, "frames"],
  open1000: [open1000, "open_cells1000"],
  open5000: [open5000, "open_cells5000"],
  open100mb: [open100MB, "open_large", "save"],
  scroll: [scroll, "scroll"],
  middle: [middle, "middle"],
  start: [start, "start", "memory"],
};

const { values: options } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    quick: { type: "boolean", default: false },
    add: { type: "boolean", default: false },
  },
});
const names = options.only.length > 0 ? options.only.flatMap((name) => name.split(",")) : Object.keys(MEASURES);
const unknown = names.filter((name) => !(name in MEASURES));
if (unknown.length > 0) {
  console.error(`there is no measure ${unknown.join(", ")}; there are ${Object.keys(MEASURES).join(", ")}`);
  process.exit(2);
}

const out = `${process.env.SANDBOOK_BENCH_OUT ?? "."}/figures.json`;
const record = new Record();
if (options.add)
  record.keep(JSON.parse(readFileSync(out, "utf8")), new Set(names.flatMap((name) => MEASURES[name].slice(1))));
const load = () => loadavg()[0].toFixed(2);
const loads = [load()];
const measured = new Set(record.measures());
for (const name of names) {
  const [measure, ...gives] = MEASURES[name];
  console.log(`\n── ${name}`);
  for (const one of gives) measured.add(one);
  await record.part(gives[0], "all", () => measure({ record, quick: options.quick }));
}
loads.push(load());

const chromium = process.env.SANDBOOK_TEST_CHROMIUM ?? "/usr/bin/chromium";
const browser =
  /[\d.]+/.exec(
    execFileSync(chromium, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
  )?.[0] ?? "";
const facts = conditions(browser, loads);
const list = rows(record, measured);
console.log(`\n${facts.join("\n")}\n`);
print(list);

const { series, failures } = record;
writeFileSync(out, JSON.stringify({ conditions: facts, quick: options.quick, rows: list, series, failures }, null, 1));
console.log(`\nall values: ${out}`);
if (options.add || (names.length === Object.keys(MEASURES).length && !options.quick)) {
  writePage(fileURLToPath(new URL("../../../docs/performance.md", import.meta.url)), list, facts);
}
process.exit(list.every(({ verdict }) => verdict === "met") ? 0 : 1);
