// An open notebook: the owner's document as this page sees it, changed by patches alone, and what is this page's own affair,
// selection and mode.

import { untrack } from "svelte";

import type {
  CellView,
  DocumentSnapshot,
  DocumentStatus,
  InputRequest,
  Patch,
  PatchBatch,
  QueueView,
  Toast,
} from "../platform";
import { matchCells } from "./again";
import { Cell } from "./cell.svelte";
import { Output, reconcile } from "./outputs.svelte";

const EMPTY_QUEUE: QueueView = { running: null, waiting: [], held: [], held_by: null };

export type Mode = "command" | "edit";

/** Patches that change what an overview of the notebook shows. */
const OVERVIEW = new Set<Patch["type"]>([
  "cells_inserted",
  "cells_removed",
  "cells_reordered",
  "source_edited",
  "cell_changed",
  "run",
]);

/** Patches after which undo takes something else back than a replacement. */
const STRUCTURE = new Set<Patch["type"]>(["cells_inserted", "cells_removed", "cells_reordered"]);

/** Patches that change what stands in outputs. */
const OUTPUTS = new Set<Patch["type"]>([
  "cells_inserted",
  "outputs_replaced",
  "outputs_appended",
  "output_changed",
  "text_changed",
]);

const RUNS = new Set<CellView["run"]["state"]>(["running", "input"]);

/** What a patch asks of the world outside the document. */
export type Effect =
  | { readonly type: "acknowledged"; readonly cell: Cell }
  | { readonly type: "ended"; readonly cell: Cell }
  | { readonly type: "toast"; readonly toast: Toast }
  | { readonly type: "taken_away"; readonly cell: Cell }
  | { readonly type: "next_input"; readonly cell: string; readonly text: string };

/** A batch is missing: the page has to subscribe again. */
export class Gap extends Error {}

export class Notebook {
  id = $state("");
  status: DocumentStatus = $state.raw() as DocumentStatus;
  cells: readonly Cell[] = $state.raw([]);
  queue: QueueView = $state.raw(EMPTY_QUEUE);
  input: InputRequest | null = $state.raw(null);
  loaded = $state(false);
  mode: Mode = $state("command");
  /** The cell that somebody was typing in is gone. What they type on must not become commands, until they go somewhere. */
  halted = $state(false);
  active: Cell | null = $state.raw(null);
  selectedCount = $state(0);
  /** Goes up whenever a text, a run or the order changed: for views that look at the whole notebook and may be a moment late. */
  changes = $state(0);
  /** Goes up whenever an output changed, for the same. */
  outputChanges = $state(0);

  /** Cells that this page asked to run: it is this page that a kernel's text for a new cell is meant for. */
  readonly asked = new Set<string>();
  /** The sources that undo would change back, at the revisions that a replacement made, as long as nothing else was done. */
  replaced: ReadonlyMap<Cell, number> = new Map();
  readonly #byKey = new Map<string, Cell>();
  readonly #position = $derived(new Map(this.cells.map((cell, index) => [cell, index])));
  #selected: ReadonlySet<Cell> = new Set();
  #anchor: Cell | null = null;
  #sequence = 0;
  #moved = false;

  constructor(id: string, status: DocumentStatus) {
    this.id = id;
    this.status = status;
  }

  cell(key: string): Cell | undefined {
    return this.#byKey.get(key);
  }

  indexOf(cell: Cell): number {
    return this.#position.get(cell) ?? -1;
  }

  // ------------------------------------------------------------------ what the owner says

  /** The owner started again and calls this document by another name. Its cells are told apart by their text then. */
  moveTo(id: string): void {
    this.id = id;
    this.#moved = true;
  }

  /** Whether something typed here has not arrived at the owner. */
  get unsettled(): boolean {
    return this.cells.some((cell) => !cell.synced);
  }

  setSignal(on: boolean): void {
    for (const cell of this.cells) cell.signal = on;
  }

  /** Takes in the document as it is. Answers the cells whose last edits have no place in it any more. */
  load(snapshot: DocumentSnapshot): Cell[] {
    const before = this.cells;
    const at = this.active ? before.indexOf(this.active) : 0;
    if (this.#moved) this.#move(snapshot.cells);
    this.#moved = false;
    this.#sequence = snapshot.sequence;
    this.status = snapshot.status;
    this.queue = snapshot.queue;
    this.input = snapshot.input;
    const kept = new Set(snapshot.cells.map((view) => view.key));
    for (const key of this.#byKey.keys()) if (!kept.has(key)) this.#byKey.delete(key);
    this.cells = snapshot.cells.map((view) => this.#adopt(view));
    this.loaded = true;
    this.changes += 1;
    this.outputChanges += 1;
    this.#repairSelection(Math.max(0, at));
    return before.filter((cell) => !cell.synced && !this.#has(cell));
  }

  /** The cells that an owner knows again keep their rows, editors and carets. */
  #move(views: readonly CellView[]): void {
    this.#byKey.clear();
    for (const [index, cell] of matchCells(this.cells, views).entries()) {
      const view = views[index];
      if (!cell || !view) continue;
      cell.moveTo(view);
      this.#byKey.set(view.key, cell);
    }
  }

  #has(cell: Cell): boolean {
    return this.#byKey.get(cell.key) === cell;
  }

  apply(batch: PatchBatch, self: string): Effect[] {
    if (batch.sequence <= this.#sequence) return [];
    if (batch.sequence !== this.#sequence + 1) throw new Gap();
    this.#sequence = batch.sequence;
    const effects: Effect[] = [];
    for (const patch of batch.patches) this.#patch(patch, self, effects);
    if (batch.patches.some((patch) => OVERVIEW.has(patch.type))) this.changes += 1;
    if (batch.patches.some((patch) => STRUCTURE.has(patch.type))) this.replaced = new Map();
    if (batch.patches.some((patch) => OUTPUTS.has(patch.type))) this.outputChanges += 1;
    return effects;
  }

  #adopt(view: CellView): Cell {
    const known = this.#byKey.get(view.key);
    if (known) {
      known.refresh(view);
      return known;
    }
    const cell = new Cell(view);
    this.#byKey.set(view.key, cell);
    return cell;
  }

  #patch(patch: Patch, self: string, effects: Effect[]): void {
    switch (patch.type) {
      case "status":
        this.status = patch.status;
        break;
      case "queue":
        this.queue = patch.queue;
        break;
      case "input":
        this.input = patch.input;
        break;
      case "cells_inserted":
        this.cells = this.cells.toSpliced(patch.index, 0, ...patch.cells.map((view) => this.#adopt(view)));
        this.#repairSelection(patch.index);
        break;
      case "cells_removed":
        this.#remove(new Set(patch.cells), effects);
        break;
      case "cells_reordered":
        this.cells = patch.order.flatMap((key) => this.#byKey.get(key) ?? []);
        break;
      case "toast":
        effects.push({ type: "toast", toast: patch.toast });
        break;
      case "next_input":
        effects.push({ type: "next_input", cell: patch.cell, text: patch.text });
        break;
      default:
        this.#patchCell(patch, self, effects);
    }
  }

  #patchCell(patch: Extract<Patch, { cell: string }>, self: string, effects: Effect[]): void {
    const cell = this.#byKey.get(patch.cell);
    if (!cell) return;
    switch (patch.type) {
      case "source_edited":
        if (patch.author === self && cell.source.sent) {
          cell.acknowledge(patch.revision);
          effects.push({ type: "acknowledged", cell });
        } else {
          cell.receive(patch.edits, patch.revision);
        }
        break;
      case "cell_changed":
        if (cell.kind !== patch.kind) this.replaced = new Map();
        cell.kind = patch.kind;
        cell.sourceHidden = patch.source_hidden;
        cell.outputsHidden = patch.outputs_hidden;
        cell.executionCount = patch.execution_count;
        break;
      case "run":
        if (RUNS.has(cell.run.state) && !RUNS.has(patch.run.state)) effects.push({ type: "ended", cell });
        cell.run = patch.run;
        break;
      case "outputs_replaced":
        cell.outputs = reconcile(cell.outputs, patch.outputs);
        break;
      case "outputs_appended":
        cell.outputs = [...cell.outputs, ...patch.outputs.map((output) => new Output(output))];
        break;
      case "output_changed": {
        const output = cell.outputs.find((candidate) => candidate.id === patch.output.id);
        if (output) output.body = patch.output.body;
        break;
      }
      case "text_changed":
        cell.outputs.find((candidate) => candidate.id === patch.output)?.grow(patch);
        break;
    }
  }

  #remove(keys: ReadonlySet<string>, effects: Effect[]): void {
    const { active, mode } = this;
    const first = this.cells.findIndex((cell) => keys.has(cell.key));
    this.cells = this.cells.filter((cell) => !keys.has(cell.key));
    for (const key of keys) this.#byKey.delete(key);
    this.#repairSelection(Math.max(0, first));
    if (active && mode === "edit" && keys.has(active.key)) effects.push({ type: "taken_away", cell: active });
  }

  // ------------------------------------------------------------------ selection and mode

  /** The selected cells, in their order. */
  get selection(): readonly Cell[] {
    return untrack(() => [...this.#selected].sort((a, b) => this.indexOf(a) - this.indexOf(b)));
  }

  #mark(cells: Iterable<Cell>): void {
    const next = new Set(cells);
    for (const cell of this.#selected) if (!next.has(cell)) cell.selected = false;
    for (const cell of next) cell.selected = true;
    this.#selected = next;
    this.selectedCount = next.size;
  }

  #repairSelection(near: number): void {
    this.#mark([...this.#selected].filter((cell) => this.#has(cell)));
    if (this.active && this.#has(this.active)) return;
    const halts = this.halted || (this.active !== null && this.mode === "edit");
    const next = this.cells[Math.min(near, this.cells.length - 1)] ?? null;
    this.mode = "command";
    this.active = null;
    if (next) this.select(next);
    this.halted = halts;
  }

  select(cell: Cell, mode: Mode = "command"): void {
    this.#mark([cell]);
    this.#activate(cell);
    this.#anchor = cell;
    this.setMode(mode);
  }

  /** Adds a cell to the selection, or takes it out. */
  toggle(cell: Cell): void {
    const next = new Set(this.#selected);
    if (!next.delete(cell)) next.add(cell);
    this.#mark(next);
  }

  /** Selects everything between the anchor and this cell. */
  extendTo(cell: Cell): void {
    const anchor = this.#anchor && this.#has(this.#anchor) ? this.#anchor : (this.active ?? cell);
    const [from, to] = [this.indexOf(anchor), this.indexOf(cell)].sort((a, b) => a - b) as [number, number];
    this.#mark(this.cells.slice(from, to + 1));
    this.#activate(cell);
    this.#anchor = anchor;
    this.setMode("command");
  }

  selectAll(): void {
    this.#mark(this.cells);
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    this.halted = false;
    if (this.active) this.active.editing = mode === "edit";
  }

  #activate(cell: Cell): void {
    if (this.active === cell) return;
    if (this.active) {
      this.active.active = false;
      this.active.editing = false;
    }
    this.active = cell;
    cell.active = true;
  }
}
