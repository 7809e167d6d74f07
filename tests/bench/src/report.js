// The table: each wanted ratio beside what was measured.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";

import { TARGETS } from "./targets.js";

/** A missed figure is let through up to here, if the reason is written down. */
const LENIENCE = 1.25;

const number = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 2));
const shown = (value, unit) => `${number(value)} ${unit}`.trim();

function verdict(value, { atMost, atLeast }) {
  if (atMost === undefined && atLeast === undefined) return "";
  if (atLeast !== undefined) return value >= atLeast ? "met" : "missed";
  if (value <= atMost) return "met";
  return value <= atMost * LENIENCE ? "missed by at most 25 %" : "missed";
}

function row(record, { work, ours, peer, atMost, atLeast }) {
  const own = record.value(ours.measure, ours.who, ours.metric, ours.statistic);
  const other = peer && record.value(peer.measure, peer.who, peer.metric, peer.statistic);
  const isWanted = atMost !== undefined || atLeast !== undefined;
  const wanted = peer ? `≤ ${atMost} ×` : atLeast !== undefined ? `≥ ${atLeast}` : `≤ ${atMost}`;
  const lacking = !own ? ours : peer && !other ? peer : null;
  if (lacking) {
    const why = record.reason(lacking.measure, lacking.who);
    return { work, wanted: isWanted ? wanted : "", own: "", other: "", ratio: "", load: "", verdict: `not measured: ${why}` };
  }
  const ratio = other ? own.value / other.value : null;
  const loads = [...own.load, ...(other?.load ?? [])];
  return {
    work,
    wanted: !isWanted ? "" : peer ? wanted : `${wanted} ${own.unit}`,
    own: shown(own.value, own.unit),
    other: other ? shown(other.value, other.unit) : "",
    ratio: ratio === null ? "" : number(ratio),
    load: `${Math.min(...loads)}–${Math.max(...loads)}`,
    verdict: verdict(ratio ?? own.value, { atMost, atLeast }),
  };
}

/** The rows of the measures that were asked for. */
export const rows = (record, measures) =>
  TARGETS.filter(({ ours }) => measures.has(ours.measure)).map((target) => row(record, target));

const HEADS = ["work", "Sandbook", "peer or floor", "ratio", "wanted", "load", ""];
const fields = ({ work, own, other, ratio, wanted, load, verdict: word }) => [
  work,
  own,
  other,
  ratio,
  wanted,
  load,
  word,
];

export function table(list) {
  const lines = [HEADS, ["---", "--:", "--:", "--:", "--:", "--:", "---"], ...list.map(fields)];
  return lines.map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}

export function print(list) {
  const width = Math.max(...list.map(({ work }) => work.length));
  for (const one of list) {
    console.log(
      `${one.work.padEnd(width)}  ${one.own.padStart(10)}  ${one.other.padStart(10)}  ${one.ratio.padStart(6)}  ${one.wanted.padStart(10)}  ${one.verdict}`,
    );
  }
}

/** The machine and the versions, without a date: the numbers hold for these. */
export function conditions(browser, loads) {
  const python = (code) => execFileSync(process.env.SANDBOOK_BENCH_PYTHON, ["-c", code], { encoding: "utf8" }).trim();
  const versions = python(
    "import sys, importlib.metadata as m; print(', '.join([f'Python {sys.version.split()[0]}'] + " +
      "[f'{n} {m.version(n)}' for n in ('jupyterlab', 'jupyter_server', 'jupyter_client', 'ipykernel')]))",
  );
  return [
    `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB of memory, Linux ${release().split("-")[0]}`,
    `Node ${process.versions.node}, Chromium ${browser} without a screen, ${versions}`,
    `one-minute load ${loads[0]} before and ${loads[1]} after the run`,
  ];
}

const [BEGIN, END] = ["<!-- figures: written by cargo xtask bench -->", "<!-- end of figures -->"];

/** Replaces the part of the page that this program writes. */
export function writePage(path, list, facts) {
  const page = readFileSync(path, "utf8");
  const [from, to] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${path} has no place for the figures`);
  const text = `${facts.map((fact) => `- ${fact}`).join("\n")}\n\n${table(list)}\n`;
  writeFileSync(path, `${page.slice(0, from)}${BEGIN}\n\n${text}\n${page.slice(to)}`);
}
