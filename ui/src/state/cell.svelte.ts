// One cell as the page holds it. A patch changes the fields it names; whoever draws those fields draws again, nobody else.

import type { ChangeSet } from "@codemirror/state";

import type { CellView, RunState, RunView, SourceEdit } from "../platform";
import { Output, reconcile } from "./outputs.svelte";
import * as sources from "./source";

/** What a cell shows in its gutter: the owner's run states, and "edited" where the source is newer than what ran. */
export type CellLook =
  "new" | "queued" | "held" | "running" | "input" | "done" | "error" | "edited" | "stopped" | "nosignal" | "lost";

const LOOKS: Record<RunState, CellLook> = {
  new: "new",
  queued: "queued",
  held: "held",
  running: "running",
  input: "input",
  done: "done",
  failed: "error",
  stopped: "stopped",
  timed_out: "stopped",
  no_signal: "nosignal",
  lost: "lost",
};

export function lookOf(run: RunView, executionCount: number | null, edited: boolean, hasOutputs: boolean): CellLook {
  const look = LOOKS[run.state];
  if (edited && (look === "done" || look === "error")) return "edited";
  // A cell that ran in another session comes with its number and its outputs: it is done, as far as the file says.
  if (look === "new" && (executionCount !== null || hasOutputs)) return "done";
  return look;
}

/** What an editor that shows this cell has to do when someone else edits it. */
export interface SourceMirror {
  apply(changes: ChangeSet): void;
}

export class Cell {
  /** Its name at the owner: another one once the owner started again. */
  key = $state("");
  kind: CellView["kind"] = $state("code");
  executionCount: number | null = $state(null);
  sourceHidden = $state(false);
  outputsHidden = $state(false);
  #run: RunView = $state.raw({
    state: "new",
    place: null,
    started_at: null,
    duration_ms: null,
    ran_revision: null,
    exit_code: null,
    author: null,
    not_run: null,
  });
  /** The text that ran, where this page saw it. */
  #ran: { readonly revision: number; readonly text: string } | null = $state.raw(null);
  outputs: readonly Output[] = $state.raw([]);
  attachments: CellView["attachments"] = $state.raw([]);
  source: sources.Source = $state.raw(sources.sourceOf("", 0));

  selected = $state(false);
  active = $state(false);
  editing = $state(false);
  lineNumbers: boolean | null = $state(null);
  /** False while the owner is out of reach: what runs may have ended meanwhile. */
  signal = $state(true);

  mirror: SourceMirror | null = null;
  #whenSettled: (() => void)[] = [];

  constructor(view: CellView) {
    this.key = view.key;
    this.source = sources.sourceOf(view.source, view.revision);
    this.#take(view);
    this.outputs = view.outputs.map((output) => new Output(output));
  }

  get text(): string {
    return this.source.text;
  }

  /** Whether the owner has everything that was typed. */
  get synced(): boolean {
    return sources.settled(this.source);
  }

  get run(): RunView {
    return this.#run;
  }

  set run(run: RunView) {
    this.#run = run;
    this.#remember();
  }

  #remember(): void {
    const { revision, base } = this.source;
    if (this.#run.ran_revision === revision) this.#ran = { revision, text: base };
  }

  /** Whether the text is not the one that ran: what was typed and taken back makes no difference. */
  get edited(): boolean {
    const ran = this.run.ran_revision;
    if (ran === null) return false;
    return this.#ran?.revision === ran ? this.text !== this.#ran.text : ran !== this.source.revision || !this.synced;
  }

  get look(): CellLook {
    const look = lookOf(this.run, this.executionCount, this.edited, this.outputs.length > 0);
    return !this.signal && (look === "running" || look === "input") ? "nosignal" : look;
  }

  #take(view: CellView): void {
    this.kind = view.kind;
    this.executionCount = view.execution_count;
    this.sourceHidden = view.source_hidden;
    this.outputsHidden = view.outputs_hidden;
    this.run = view.run;
    this.attachments = view.attachments;
  }

  /** The same cell in a later snapshot. */
  refresh(view: CellView): void {
    this.#take(view);
    const before = this.text;
    this.source = sources.resume(this.source, view.source, view.revision);
    this.#remember();
    const shown = sources.difference(before, this.text);
    if (shown) this.mirror?.apply(sources.changesOf([shown], before.length));
    this.outputs = reconcile(this.outputs, view.outputs);
    this.#wake();
  }

  /** Whether a cell of an owner that started again is this one, as far as its text tells. */
  continuesIn(view: CellView): boolean {
    return this.kind === view.kind && sources.continues(this.source, view.source);
  }

  /** Goes on as a cell of an owner that started again. Its editor stays, and the caret in it. */
  moveTo(view: CellView): void {
    this.key = view.key;
    // Revisions and outputs count from the beginning there: equal numbers mean nothing.
    this.#ran = null;
    this.outputs = [];
    this.refresh(view);
  }

  edit(changes: ChangeSet): void {
    this.source = sources.edit(this.source, changes);
  }

  /** Edits the source without an editor. */
  replace(text: string): void {
    const change = sources.difference(this.text, text);
    if (!change) return;
    const changes = sources.changesOf([change], this.text.length);
    this.source = sources.edit(this.source, changes);
    this.mirror?.apply(changes);
  }

  takeEdits(): { readonly base: number; readonly edits: SourceEdit[] } | null {
    const taken = sources.take(this.source);
    if (!taken) return null;
    this.source = taken.source;
    return { base: taken.source.revision, edits: taken.edits };
  }

  acknowledge(revision: number): void {
    this.source = sources.acknowledge(this.source, revision);
    this.#wake();
  }

  receive(edits: readonly SourceEdit[], revision: number): void {
    const received = sources.receive(this.source, edits, revision);
    this.source = received.source;
    this.mirror?.apply(received.changes);
  }

  /** Waits until the owner has every edit: what runs must be what is seen. */
  settled(): Promise<void> {
    if (this.synced) return Promise.resolve();
    return new Promise((resolve) => this.#whenSettled.push(resolve));
  }

  #wake(): void {
    if (!this.synced) return;
    for (const resolve of this.#whenSettled.splice(0)) resolve();
  }
}
