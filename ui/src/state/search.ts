// Keeps what find shows true: it looks when something else is asked, and again when the document changed. Sources are looked
// at here, those alone that changed. Outputs are the owner's to search: one search at a time, and the longer one takes, the
// longer it is left alone.

import type { OutputMatch } from "../platform";
import type { Cell } from "./cell.svelte";
import { fits, hitsIn, type Hit } from "./find.svelte";
import { follow, type Place, positionsOf } from "./follow";
import type { Notebook } from "./notebook.svelte";
import type { Workbench } from "./workbench.svelte";

/** After the last key of a question, in milliseconds. */
const QUIET_MS = 120;
/** After a change of sources: before anything that is marked is drawn again. */
const SOON_MS = 100;
/** The owner is asked again no sooner than this, and spends no more than one part in so many on it. */
const REST_MS = 300;
const REST = 10;
/** Hits in outputs: more of them help nobody. */
const OUTPUT_HITS = 500;

interface InSource {
  readonly pattern: RegExp;
  readonly kind: Cell["kind"];
  readonly text: string;
  readonly hits: readonly Hit[];
}

interface InOutputs {
  readonly pattern: RegExp;
  /** How many changes of outputs it takes in. */
  readonly changes: number;
  readonly hits: readonly Hit[];
  readonly more: boolean;
}

const hitOf = (match: OutputMatch): Hit => ({ cell: match.cell, where: "output", from: 0, to: 0, output: match });

export class Search {
  readonly #desk: Workbench;
  readonly #notebook: Notebook;
  readonly #sources = new WeakMap<Cell, InSource>();
  #outputs: InOutputs | null = null;
  #question: ReturnType<typeof setTimeout> | undefined;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #later: ReturnType<typeof setTimeout> | undefined;
  /** The question that the owner has; null while it has none. The answer to another one is not taken in. */
  #asking: symbol | null = null;
  #restMs = REST_MS;

  constructor(desk: Workbench, notebook: Notebook) {
    this.#desk = desk;
    this.#notebook = notebook;
  }

  /** Something else is looked for, or elsewhere. */
  asked(): void {
    const { find } = this.#desk;
    this.end();
    if (!find.pattern) {
      find.forget();
      return;
    }
    find.searching = true;
    this.#question = setTimeout(() => void this.look(), QUIET_MS);
  }

  /** Looks now and goes to what is found: to the first from a place on, or to where the person is already. */
  async look(from: Place | null = null): Promise<void> {
    this.end();
    const { find } = this.#desk;
    const { pattern } = find;
    if (!pattern) return;
    find.searching = true;
    if (find.outputsSearched && !this.#isUpToDate(pattern) && !(await this.#ask(pattern, true))) return;
    find.searching = false;
    this.#show(pattern, from);
    find.visits += 1;
    this.outputsChanged();
  }

  /** Sources changed: what was found may be elsewhere now. */
  changed(): void {
    if (this.#desk.find.searching) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#again();
    }, SOON_MS);
  }

  /** Outputs changed: there may be more to find. */
  outputsChanged(): void {
    const { find } = this.#desk;
    if (find.searching || this.#asking || !find.outputsSearched || !find.pattern) return;
    if (this.#isUpToDate(find.pattern)) return;
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      void this.#askAgain();
    }, this.#restMs);
  }

  /** Nothing more is looked at, and no answer taken in. */
  end(): void {
    for (const timer of [this.#question, this.#soon, this.#later]) clearTimeout(timer);
    this.#question = this.#soon = this.#later = undefined;
    this.#asking = null;
  }

  #again(): void {
    const { pattern, searching } = this.#desk.find;
    if (pattern && !searching) this.#show(pattern, null);
  }

  async #askAgain(): Promise<void> {
    const { pattern } = this.#desk.find;
    if (!pattern || !(await this.#ask(pattern, false))) return;
    this.#again();
    this.outputsChanged();
  }

  #isUpToDate(pattern: RegExp): boolean {
    return this.#outputs?.pattern === pattern && this.#outputs.changes === this.#notebook.outputChanges;
  }

  /** Has the owner look. Answers false where something else was asked meanwhile. */
  async #ask(pattern: RegExp, byPerson: boolean): Promise<boolean> {
    const { find } = this.#desk;
    const changes = this.#notebook.outputChanges;
    const wanted = { query: find.query, case_sensitive: find.caseSensitive, output: null, limit: OUTPUT_HITS };
    const command = { type: "search_outputs", document: this.#notebook.id, search: wanted } as const;
    const started = performance.now();
    const asking = (this.#asking = Symbol(find.query));
    // Only a person's question is worth saying that it failed.
    const answer = byPerson ? await this.#desk.ask(command) : await this.#desk.request(command).catch(() => null);
    if (asking !== this.#asking) return false;
    this.#asking = null;
    this.#restMs = Math.max(REST_MS, REST * (performance.now() - started));
    // Without an answer, what was found before goes on standing there, and nobody is asked until outputs change again.
    const before = this.#outputs?.pattern === pattern ? this.#outputs : { pattern, hits: [], more: false };
    const matches = answer?.matches.filter((match) => !find.wholeWord || fits(match, pattern));
    this.#outputs = { ...before, changes, ...(matches && { hits: matches.map(hitOf), more: answer?.more ?? false }) };
    return true;
  }

  #show(pattern: RegExp, from: Place | null): void {
    const { find } = this.#desk;
    const position = positionsOf(this.#notebook.cells);
    const place = (hit: Hit): number => position.get(hit.cell) ?? -1;
    const outputs = find.outputsSearched && this.#outputs?.pattern === pattern ? this.#outputs : null;
    const hits = [...this.#inSources(pattern), ...(outputs?.hits ?? [])]
      .filter((hit) => position.has(hit.cell))
      .sort((a, b) => place(a) - place(b));
    const before = { hits: find.hits, at: find.at };
    find.found(hits, outputs?.more ?? false, (now) => follow(before, now, position, from));
  }

  #inSources(pattern: RegExp): Hit[] {
    const { find } = this.#desk;
    return (find.selectedOnly ? find.scope : this.#notebook.cells)
      .filter((cell) => (cell.kind === "code" ? find.inCode : find.inText))
      .flatMap((cell) => {
        const known = this.#sources.get(cell);
        const { kind, text } = cell;
        if (known?.pattern === pattern && known.text === text && known.kind === kind) return known.hits;
        const hits = hitsIn(cell, pattern);
        this.#sources.set(cell, { pattern, kind, text, hits });
        return hits;
      });
  }
}
