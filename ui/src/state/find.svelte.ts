// Find and replace: what is looked for, where, and what was found. Code and text are searched here; outputs by the owner,
// because the page holds only the head and the tail of a long one.

import type { OutputMatch } from "../platform";
import type { Cell } from "./cell.svelte";

export interface FindOptions {
  readonly caseSensitive: boolean;
  readonly wholeWord: boolean;
  readonly regex: boolean;
}

export interface Hit {
  readonly cell: string;
  readonly where: "code" | "text" | "output";
  readonly from: number;
  readonly to: number;
  readonly output: OutputMatch | null;
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** The pattern for a query, or null when it is empty or not a regular expression. */
export function patternOf(query: string, options: FindOptions): RegExp | null {
  if (query === "") return null;
  const body = options.regex ? query : literal(query);
  try {
    return new RegExp(options.wholeWord ? `\\b(?:${body})\\b` : body, options.caseSensitive ? "gmu" : "gimu");
  } catch {
    return null;
  }
}

export function hitsIn(cell: Pick<Cell, "key" | "kind" | "text">, pattern: RegExp): Hit[] {
  const where = cell.kind === "code" ? "code" : "text";
  const hits: Hit[] = [];
  for (const match of cell.text.matchAll(pattern)) {
    if (match[0] === "") continue;
    hits.push({ cell: cell.key, where, from: match.index, to: match.index + match[0].length, output: null });
  }
  return hits;
}

export class Find {
  open = $state(false);
  replacing = $state(false);
  query = $state("");
  replacement = $state("");
  caseSensitive = $state(false);
  wholeWord = $state(false);
  regex = $state(false);
  inCode = $state(true);
  inText = $state(true);
  inOutputs = $state(true);
  selectedOnly = $state(false);
  hits: readonly Hit[] = $state.raw([]);
  more = $state(false);
  at = $state(-1);

  readonly pattern = $derived(
    patternOf(this.query, { caseSensitive: this.caseSensitive, wholeWord: this.wholeWord, regex: this.regex }),
  );

  show(replacing: boolean): void {
    this.open = true;
    this.replacing = replacing;
  }

  close(): void {
    this.open = false;
    this.hits = [];
    this.at = -1;
  }

  /** The hit that is shown, if any. */
  get current(): Hit | null {
    return this.hits[this.at] ?? null;
  }

  step(by: number): void {
    if (this.hits.length > 0) this.at = (this.at + by + this.hits.length) % this.hits.length;
  }
}
