// Cells come, go, move and change. The page changes when the patch comes.

import type { CellKind } from "../../platform";
import { plural } from "../../text/units";
import type { Cell } from "../cell.svelte";
import type { Notebook } from "../notebook.svelte";
import type { Workbench } from "../workbench.svelte";
import { flush, keysOf, targets, whenGone, whenPresent } from "./targets";

/** The cell that was selected when a cell was inserted: undo goes back to it. */
const insertedFrom = new WeakMap<Cell, Cell>();

export async function insertAt(
  desk: Workbench,
  notebook: Notebook,
  index: number,
  kind: CellKind,
  mode: "command" | "edit" = "command",
): Promise<Cell | null> {
  const before = notebook.active;
  const answer = await desk.ask({ type: "insert_cell", document: notebook.id, index, kind, source: "" });
  const cell = await whenPresent(notebook, answer?.cells[0]);
  if (cell && before) insertedFrom.set(cell, before);
  if (cell) notebook.select(cell, mode);
  return cell;
}

export function insert(
  desk: Workbench,
  notebook: Notebook,
  where: "above" | "below",
  kind: CellKind,
): Promise<unknown> {
  const cells = targets(notebook);
  const at = where === "above" ? cells[0] : cells.at(-1);
  const index = at ? notebook.indexOf(at) + (where === "below" ? 1 : 0) : notebook.cells.length;
  return insertAt(desk, notebook, index, kind, where === "below" && kind === "markdown" ? "edit" : "command");
}

export async function undo(desk: Workbench, notebook: Notebook): Promise<void> {
  notebook.setMode("command");
  await takeBack(desk, notebook);
}

async function takeBack(desk: Workbench, notebook: Notebook): Promise<void> {
  const { active } = notebook;
  const before = active ? insertedFrom.get(active) : undefined;
  const answer = await desk.ask({ type: "undo", document: notebook.id });
  const mayBeGone = answer?.cells.length === 0 || answer?.cells.includes(active?.key ?? "");
  if (active && before && mayBeGone && (await whenGone(notebook, active))) {
    if (notebook.indexOf(before) >= 0) notebook.select(before);
  } else {
    await selectFirst(notebook, answer?.cells ?? []);
  }
}

/** Undo in an editor takes back what was typed there. Where a replacement came after it, it takes back the replacement. */
export function undoReplacement(desk: Workbench, notebook: Notebook, cell: Cell): boolean {
  if (!cell.synced || notebook.replaced.get(cell) !== cell.source.revision) return false;
  notebook.replaced = new Map();
  void takeBack(desk, notebook);
  return true;
}

export async function redo(desk: Workbench, notebook: Notebook): Promise<void> {
  notebook.setMode("command");
  const answer = await desk.ask({ type: "redo", document: notebook.id });
  await selectFirst(notebook, answer?.cells ?? []);
}

async function selectFirst(notebook: Notebook, keys: readonly string[]): Promise<void> {
  const cell = await whenPresent(notebook, keys[0]);
  if (cell) notebook.select(cell);
}

export async function remove(desk: Workbench, notebook: Notebook, word = "deleted"): Promise<void> {
  const cells = targets(notebook);
  if (cells.length === 0) return;
  notebook.setMode("command");
  const done = await desk.ask({ type: "delete_cells", document: notebook.id, cells: keysOf(cells) });
  if (!done) return;
  const text = `${plural(cells.length, "cell")} ${word}.`;
  desk.toasts.show(text, { actions: [{ label: "Undo", run: () => void undo(desk, notebook) }] });
  desk.announcer.say(text);
}

export function move(desk: Workbench, notebook: Notebook, by: -1 | 1): void {
  const cells = targets(notebook);
  const first = cells[0];
  if (!first) return;
  const index = notebook.indexOf(first) + by;
  if (index < 0 || index + cells.length > notebook.cells.length) return;
  void desk.ask({ type: "move_cells", document: notebook.id, cells: keysOf(cells), index });
}

/** Splits the active cell at the caret. What stood before it becomes a new cell above; the person goes on writing below. */
export async function split(desk: Workbench, notebook: Notebook, position: number): Promise<void> {
  const cell = notebook.active;
  if (!cell) return;
  await cell.settled();
  const answer = await desk.ask({ type: "split_cell", document: notebook.id, cell: cell.key, position });
  if (await whenPresent(notebook, answer?.cells[0])) notebook.select(cell, "edit");
}

export async function merge(desk: Workbench, notebook: Notebook): Promise<void> {
  const cells = [...targets(notebook)];
  const below = notebook.active ? notebook.cells[notebook.indexOf(notebook.active) + 1] : undefined;
  if (cells.length === 1 && below) cells.push(below);
  if (cells.length < 2) return;
  await flush(notebook);
  notebook.setMode("command");
  if (await desk.ask({ type: "merge_cells", document: notebook.id, cells: keysOf(cells) })) {
    const first = cells[0];
    if (first) notebook.select(first);
  }
}

export async function changeKind(desk: Workbench, notebook: Notebook, kind: CellKind): Promise<void> {
  await flush(notebook);
  await desk.ask({ type: "change_kind", document: notebook.id, cells: keysOf(targets(notebook)), kind });
}

/** Makes text cells of the targets, and their first line a heading of this level. */
export async function makeHeading(desk: Workbench, notebook: Notebook, level: number): Promise<void> {
  await changeKind(desk, notebook, "markdown");
  for (const cell of targets(notebook)) {
    cell.replace(`${"#".repeat(level)} ${cell.text.replace(/^#{1,6}\s+/, "")}`);
    desk.pump(notebook, cell);
  }
}

export function fold(desk: Workbench, notebook: Notebook, what: "source" | "outputs"): void {
  const cells = targets(notebook);
  notebook.replaced = new Map();
  const hidden = what === "source" ? cells.some((c) => !c.sourceHidden) : cells.some((c) => !c.outputsHidden);
  void desk.ask({
    type: "fold",
    document: notebook.id,
    cells: keysOf(cells),
    source_hidden: what === "source" ? hidden : null,
    outputs_hidden: what === "outputs" ? hidden : null,
  });
}

export function clearOutputs(desk: Workbench, notebook: Notebook, all: boolean): void {
  const cells = all ? null : keysOf(targets(notebook));
  notebook.replaced = new Map();
  void desk.ask({ type: "clear_outputs", document: notebook.id, cells });
}

/** What C and X took. The system clipboard gets it too, where the page may write there. */
let clipboard = "";

export async function copy(desk: Workbench, notebook: Notebook): Promise<boolean> {
  await flush(notebook);
  const answer = await desk.ask({ type: "copy_cells", document: notebook.id, cells: keysOf(targets(notebook)) });
  if (!answer) return false;
  clipboard = answer.text;
  await navigator.clipboard?.writeText(answer.text).catch(() => undefined);
  return true;
}

export async function cut(desk: Workbench, notebook: Notebook): Promise<void> {
  if (await copy(desk, notebook)) await remove(desk, notebook, "cut");
}

export async function paste(desk: Workbench, notebook: Notebook, text = clipboard): Promise<void> {
  if (text === "") return;
  const last = targets(notebook).at(-1);
  const index = last ? notebook.indexOf(last) + 1 : notebook.cells.length;
  const before = notebook.active;
  const answer = await desk.ask({ type: "paste_cells", document: notebook.id, index, text });
  await selectFirst(notebook, answer?.cells ?? []);
  const pasted = notebook.cell(answer?.cells[0] ?? "");
  if (pasted && before) insertedFrom.set(pasted, before);
}
