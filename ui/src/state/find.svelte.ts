// Find and replace: what is looked for, where, and what was found. Code and text are searched here; outputs by the owner,
// because the page holds only the head and the tail of a long one.

import { untrack } from "svelte";

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

/** Bytes of a line that the owner gives before a match, or up to three more, so that no character is cut. */
const AROUND = 80;

/** Where in its excerpt a match may begin. */
function placesInExcerpt({ excerpt, column }: Pick<OutputMatch, "excerpt" | "column">): number[] {
  const bytes = (end: number): number => new TextEncoder().encode(excerpt.slice(0, end)).length;
  if (column <= excerpt.length && bytes(column) <= AROUND) return [column];
  return Array.from(excerpt, (_, at) => at).filter((at) => bytes(at) >= AROUND && bytes(at) <= AROUND + 3);
}

/** Whether a match of the owner's, who looks for plain text, is one of the pattern too: a whole word, where that is wanted. */
export function fits(match: Pick<OutputMatch, "excerpt" | "column">, pattern: RegExp): boolean {
  const there = new RegExp(pattern.source, `${pattern.flags.replace("g", "")}y`);
  return placesInExcerpt(match).some((place) => {
    there.lastIndex = place;
    return there.test(match.excerpt);
  });
}

/** What is said when nothing was found: only what was looked at, and what was not. */
export function nothingFound(
  find: Pick<Find, "inCode" | "inText" | "inOutputs" | "selectedOnly" | "regex" | "outputsSearched">,
): string {
  const outputs = find.inOutputs && find.outputsSearched;
  const places = [find.inCode ? "code" : "", find.inText ? "text" : "", outputs ? "outputs" : ""].filter(Boolean);
  const last = places.pop();
  if (last === undefined) return "Nothing is searched: code, text and outputs are switched off.";
  const where = places.length > 0 ? `${places.join(", ")} or ${last}` : last;
  const limited = find.selectedOnly ? " of the selected cells" : "";
  const note = outputs
    ? " Folded lines were searched too."
    : find.inOutputs
      ? ` Outputs are not searched ${find.regex ? "with a regular expression" : "in selected cells only"}.`
      : "";
  return `No match in ${where}${limited}.${note}`;
}

/** Where a hit is, as a name: the same place has the same one after another search. */
const nameOf = ({ cell, where, from, to, output }: Hit): string =>
  output
    ? [cell, output.output, output.line, output.column, output.length, output.excerpt].join("\n")
    : [cell, where, from, to].join("\n");

const isSame = (a: readonly Hit[], b: readonly Hit[]): boolean =>
  a.length === b.length && a.every((hit, i) => hit === b[i]);

const NONE: readonly Hit[] = [];

/** Hits by their cell; a cell of which nothing changed keeps its list, so that nobody draws it again. */
function byCell(
  hits: readonly Hit[],
  before: ReadonlyMap<string, readonly Hit[]>,
): ReadonlyMap<string, readonly Hit[]> {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) {
    const group = groups.get(hit.cell);
    if (group) group.push(hit);
    else groups.set(hit.cell, [hit]);
  }
  return new Map(
    [...groups].map(([cell, group]) => {
      const old = before.get(cell);
      return [cell, old && isSame(old, group) ? old : group];
    }),
  );
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
  hits: readonly Hit[] = $state.raw(NONE);
  more = $state(false);
  at = $state(-1);
  /** Goes up when the person goes to a hit. A document that changes below a hit takes nobody anywhere. */
  visits = $state(0);
  /** The hit that is shown where it could not be marked: in a frame, or in a part that is not drawn. */
  unmarked: Hit | null = $state.raw(null);
  /** Whether what is shown is not the answer to what is asked yet. */
  searching = $state(false);
  /** The cells that were selected when only they were asked for: going to a hit selects its cell. */
  scope: readonly Cell[] = $state.raw([]);
  /** Outputs are the owner's to search, who knows plain text only. */
  readonly outputsSearched: boolean = $derived(this.inOutputs && !this.selectedOnly && !this.regex);

  readonly pattern = $derived(
    patternOf(this.query, { caseSensitive: this.caseSensitive, wholeWord: this.wholeWord, regex: this.regex }),
  );
  /** The hit that is shown, if any. */
  readonly current: Hit | null = $derived(this.hits[this.at] ?? null);

  #inSources: ReadonlyMap<string, readonly Hit[]> = $state.raw(new Map());
  #inOutputs: ReadonlyMap<string, readonly Hit[]> = $state.raw(new Map());
  /** The last visit that somebody brought into view. */
  #arrived = 0;

  show(replacing: boolean): void {
    this.open = true;
    this.replacing = replacing;
  }

  close(): void {
    this.open = false;
    this.forget();
  }

  forget(): void {
    this.found(NONE, false);
    this.searching = false;
  }

  /** The hits in a cell's source. */
  inSource(cell: string): readonly Hit[] {
    return this.#inSources.get(cell) ?? NONE;
  }

  /** The hits in a cell's outputs. */
  inOutputsOf(cell: string): readonly Hit[] {
    return this.#inOutputs.get(cell) ?? NONE;
  }

  /** Takes in what a search found. Hits that were there before stay what they are. */
  found(hits: readonly Hit[], more: boolean, at: (hits: readonly Hit[]) => number = () => -1): void {
    const known = new Map(this.hits.map((hit) => [nameOf(hit), hit]));
    const next = hits.map((hit) => known.get(nameOf(hit)) ?? hit);
    const index = at(next);
    this.more = more;
    if (!isSame(this.hits, next)) {
      const [inSources, inOutputs] = [next.filter((hit) => !hit.output), next.filter((hit) => hit.output)];
      this.#inSources = byCell(inSources, this.#inSources);
      this.#inOutputs = byCell(inOutputs, this.#inOutputs);
      this.hits = next;
    }
    this.at = index;
  }

  step(by: number): void {
    if (this.hits.length === 0) return;
    this.at = (this.at + by + this.hits.length) % this.hits.length;
    this.visits += 1;
  }

  /** Whether the view is still to be brought to the current hit. */
  get isDue(): boolean {
    return this.#arrived !== untrack(() => this.visits);
  }

  /** The same, of whoever brings it there: once for each visit. */
  arrive(): boolean {
    const { isDue } = this;
    this.#arrived = untrack(() => this.visits);
    return isDue;
  }
}
