// What the palette offers for a query. Pure.

import type { IconName } from "../parts/icons";
import type { CommandEntry } from "../keys/commands";
import type { Cell } from "../state/cell.svelte";
import { firstLine } from "./outline";

export interface Choice {
  readonly id: string;
  readonly icon: IconName;
  readonly text: string;
  readonly meta: string;
  readonly keys: string;
  readonly code: boolean;
  readonly hits: readonly (readonly [number, number])[];
}

export interface Group {
  readonly name: string;
  readonly choices: readonly Choice[];
}

const MOST = 8;

/** Every word of the query has to stand in the text; answers where, or null. */
export function matchWords(text: string, query: string): (readonly [number, number])[] | null {
  const lower = text.toLowerCase();
  const hits: [number, number][] = [];
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = lower.indexOf(word);
    if (at < 0) return null;
    hits.push([at, at + word.length]);
  }
  return hits.sort((a, b) => a[0] - b[0]);
}

/** A match at the start of the text, then at the start of a word, then anywhere. */
function rank(text: string, hits: readonly (readonly [number, number])[]): number {
  const at = hits[0]?.[0] ?? 0;
  if (at === 0) return 0;
  return /\W/.test(text[at - 1] ?? "") ? 1 : 2;
}

export function commandChoices(commands: readonly CommandEntry[], query: string, most = MOST): Choice[] {
  return commands
    .flatMap((command): (Choice & { rank: number })[] => {
      const hits = matchWords(command.title, query);
      if (!hits) return [];
      const keys = command.keys[0] ?? "";
      const choice = { id: command.id, icon: command.icon, text: command.title, meta: "", keys, code: false, hits };
      return [{ ...choice, rank: rank(command.title, hits) }];
    })
    .sort((a, b) => a.rank - b.rank)
    .slice(0, query === "" ? 50 : most);
}

export function cellChoices(cells: readonly Cell[], query: string, most = MOST): Choice[] {
  if (query === "") return [];
  const out: Choice[] = [];
  for (const [index, cell] of cells.entries()) {
    const line = cell.text.split("\n").find((candidate) => matchWords(candidate, query)) ?? "";
    if (line === "") continue;
    const text = line.trim() || firstLine(cell.text);
    const code = cell.kind === "code";
    out.push({
      id: cell.key,
      icon: code ? "code" : "pilcrow",
      text: code ? text : text.replace(/^#+\s*/, ""),
      meta: `cell ${index + 1}, ${code ? "code" : "text"}`,
      keys: "",
      code,
      hits: matchWords(code ? text : text.replace(/^#+\s*/, ""), query) ?? [],
    });
    if (out.length === most) break;
  }
  return out;
}

/** The text in pieces, matched ones marked. */
export function pieces(text: string, hits: readonly (readonly [number, number])[]): { text: string; hit: boolean }[] {
  const out: { text: string; hit: boolean }[] = [];
  let at = 0;
  for (const [from, to] of hits) {
    if (from < at) continue;
    if (from > at) out.push({ text: text.slice(at, from), hit: false });
    out.push({ text: text.slice(from, to), hit: true });
    at = to;
  }
  if (at < text.length) out.push({ text: text.slice(at), hit: false });
  return out;
}
