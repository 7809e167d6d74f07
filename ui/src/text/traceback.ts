// A Python traceback as IPython sends it, cut into frames: the person's own frames stay open, what lies inside libraries is
// folded. Text that does not look like one is kept as it is, never dropped.

import { stripCodes } from "./ansi";

export interface Frame {
  /** The number of the cell's run, when the frame is a cell. */
  readonly cell: number | null;
  readonly file: string | null;
  readonly line: number | null;
  /** The package the frame lies in, or null when the code is the person's own. */
  readonly library: string | null;
  readonly lines: readonly string[];
}

export type Section =
  | { readonly kind: "frames"; readonly frames: readonly Frame[] }
  | { readonly kind: "folded"; readonly library: string; readonly frames: readonly Frame[] };

const CELL = /^Cell In\s?\[(\d+)\](?:, line (\d+))?/;
const OLD_CELL = /^(?:Input In \[(\d+)\]|<ipython-input-(\d+)-[0-9a-f]+>)/;
const FILE = /^File (.+?):(\d+)(?:, in .*)?$/;
const PLAIN_FILE = /^\s*File "(.+?)", line (\d+)(?:, in .*)?$/;
const ARROW = /^-+>\s*(\d+)/;

const LIBRARY = /(?:site-packages|dist-packages)[\\/]([\w.-]+)/;
const STANDARD = /[\\/]lib(?:64)?[\\/]python\d[\d.]*[\\/](?!site-packages|dist-packages)([\w]+)/;

export function libraryOf(file: string): string | null {
  const installed = LIBRARY.exec(file);
  if (installed) return (installed[1] ?? "").replace(/\.py$/, "");
  if (/^<frozen /.test(file)) return "Python";
  const standard = STANDARD.exec(file);
  return standard ? (standard[1] ?? "Python") : null;
}

const isRule = (text: string): boolean => /^-{20,}$/.test(text.trim());
const isHeader = (text: string): boolean => /Traceback \(most recent call last\)/.test(text);

function startOf(text: string): Omit<Frame, "lines"> | null {
  const cell = CELL.exec(text) ?? OLD_CELL.exec(text);
  if (cell) {
    const n = Number(cell[1] ?? cell[2]);
    const line = text.match(/, line (\d+)/);
    return { cell: n, file: null, line: line ? Number(line[1]) : null, library: null };
  }
  const file = FILE.exec(text) ?? PLAIN_FILE.exec(text);
  if (!file) return null;
  const name = file[1] ?? "";
  const inCell = /ipykernel_\d+[\\/]\d+\.py$/.test(name);
  return { cell: null, file: name, line: Number(file[2]), library: inCell ? null : libraryOf(name) };
}

/** Cuts the traceback's lines into frames, without rule, header and the closing summary (which the page shows first). */
export function parseFrames(traceback: readonly string[], name: string): readonly Frame[] {
  const frames: { -readonly [K in keyof Frame]: Frame[K] }[] = [];
  const lines = traceback.flatMap((part) => part.split("\n"));
  let collected: string[] = [];
  for (const line of lines) {
    const text = stripCodes(line).trimEnd();
    if (isRule(text) || isHeader(text)) continue;
    const start = startOf(text);
    if (start) {
      collected = [line];
      frames.push({ ...start, lines: collected });
      continue;
    }
    const last = frames.at(-1);
    const arrow = ARROW.exec(text.trimStart());
    if (last && arrow && last.line === null) last.line = Number(arrow[1]);
    if (last) collected.push(line);
    else if (text !== "" && !text.startsWith(`${name}:`)) {
      collected = [line];
      frames.push({ cell: null, file: null, line: null, library: null, lines: collected });
    }
  }
  return frames.map((frame) => ({ ...frame, lines: trimmed(frame.lines, name) })).filter((f) => f.lines.length > 0);
}

function trimmed(lines: readonly string[], name: string): readonly string[] {
  const out = [...lines];
  const blank = (): boolean => stripCodes(out.at(-1) ?? "x").trim() === "";
  while (out.length > 0 && blank()) out.pop();
  const closing = out.findLastIndex(
    (line) => stripCodes(line).startsWith(`${name}:`) || stripCodes(line).trim() === name,
  );
  if (closing > 0) out.length = closing;
  while (out.length > 0 && blank()) out.pop();
  return out;
}

/** Neighbouring library frames become one folded section. */
export function sections(frames: readonly Frame[]): readonly Section[] {
  const out: Section[] = [];
  for (const frame of frames) {
    const last = out.at(-1);
    if (frame.library !== null) {
      if (last?.kind === "folded") out[out.length - 1] = { ...last, frames: [...last.frames, frame] };
      else out.push({ kind: "folded", library: frame.library, frames: [frame] });
    } else if (last?.kind === "frames") {
      out[out.length - 1] = { ...last, frames: [...last.frames, frame] };
    } else {
      out.push({ kind: "frames", frames: [frame] });
    }
  }
  return out;
}

export const isArrowLine = (line: string): boolean => ARROW.test(stripCodes(line).trimStart());
