// What a person can do to the open notebook. Each action is a command to the owner; the page changes when the patch comes.

import { OwnerError, type CellKind, type CellSelection, type SandboxChoice } from "../platform";
import { plural } from "../text/units";
import type { Cell } from "./cell.svelte";
import type { Notebook } from "./notebook.svelte";
import type { Workbench } from "./workbench.svelte";

/** The cells that an action means: the selected ones, else the active one. */
export const targets = (notebook: Notebook): readonly Cell[] => {
  const selected = notebook.selection;
  return selected.length > 0 ? selected : notebook.active ? [notebook.active] : [];
};

const keysOf = (cells: readonly Cell[]): string[] => cells.map((cell) => cell.key);

/** Waits until every cell's text is with the owner, so that what runs or moves is what is seen. */
export async function flush(notebook: Notebook): Promise<void> {
  await Promise.all(notebook.cells.map((cell) => cell.settled()));
}

const whenPresent = async (notebook: Notebook, key: string): Promise<Cell | null> => {
  // The reply can overtake the patch by a frame, not by more.
  for (let i = 0; i < 50; i++) {
    const cell = notebook.cell(key);
    if (cell) return cell;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return null;
};

// -------------------------------------------------------------------- run

const NEEDS_SANDBOX = new Set(["no_sandbox", "no_kernel_found"]);

export async function run(desk: Workbench, notebook: Notebook, selection: CellSelection): Promise<void> {
  await flush(notebook);
  try {
    await desk.request({ type: "run", document: notebook.id, selection });
  } catch (error) {
    if (error instanceof OwnerError && NEEDS_SANDBOX.has(error.code)) desk.overlay = { kind: "sandbox" };
    else desk.fail(error);
  }
}

/** Runs code cells, shows text cells as text. */
export async function runTargets(desk: Workbench, notebook: Notebook): Promise<void> {
  const cells = targets(notebook);
  const code = cells.filter((cell) => cell.kind === "code");
  notebook.setMode("command");
  if (code.length > 0) await run(desk, notebook, { type: "cells", cells: keysOf(code) });
}

export async function runAndAdvance(desk: Workbench, notebook: Notebook): Promise<void> {
  const last = targets(notebook).at(-1);
  if (!last) return;
  const running = runTargets(desk, notebook);
  const next = notebook.cells[notebook.indexOf(last) + 1];
  if (next) notebook.select(next);
  else await insertAt(desk, notebook, notebook.cells.length, "code", "edit");
  await running;
}

export async function runAndInsert(desk: Workbench, notebook: Notebook): Promise<void> {
  const last = targets(notebook).at(-1);
  if (!last) return;
  const running = runTargets(desk, notebook);
  await insertAt(desk, notebook, notebook.indexOf(last) + 1, "code", "edit");
  await running;
}

export const runAll = (desk: Workbench, notebook: Notebook): Promise<void> => run(desk, notebook, { type: "all" });

export async function runAbove(desk: Workbench, notebook: Notebook): Promise<void> {
  const first = targets(notebook)[0];
  if (first) await run(desk, notebook, { type: "above", cell: first.key });
}

export async function runBelow(desk: Workbench, notebook: Notebook): Promise<void> {
  const first = targets(notebook)[0];
  if (first) await run(desk, notebook, { type: "below", cell: first.key });
}

export const interrupt = (desk: Workbench, notebook: Notebook): Promise<unknown> =>
  desk.ask({ type: "interrupt", document: notebook.id });

/** Restarting throws variables away: the person is asked when there may be some. */
export function restart(desk: Workbench, notebook: Notebook, all: boolean): void {
  const ran = notebook.cells.some((cell) => cell.run.ran_revision !== null && cell.look !== "lost");
  if (ran) desk.overlay = { kind: "restart", runAll: all };
  else void restartNow(desk, notebook, all);
}

export async function restartNow(desk: Workbench, notebook: Notebook, all: boolean): Promise<void> {
  if (all) await flush(notebook);
  await desk.ask({ type: "restart", document: notebook.id, run_all: all });
}

export async function chooseSandbox(desk: Workbench, notebook: Notebook, choice: SandboxChoice): Promise<boolean> {
  const answer = await desk.ask({ type: "choose_sandbox", document: notebook.id, choice });
  return answer !== null;
}

// -------------------------------------------------------------------- cells

export async function insertAt(
  desk: Workbench,
  notebook: Notebook,
  index: number,
  kind: CellKind,
  mode: "command" | "edit" = "command",
): Promise<Cell | null> {
  const answer = await desk.ask({ type: "insert_cell", document: notebook.id, index, kind, source: "" });
  const key = answer?.cells[0];
  const cell = key === undefined ? null : await whenPresent(notebook, key);
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
  const answer = await desk.ask({ type: "undo", document: notebook.id });
  await selectFirst(notebook, answer?.cells ?? []);
}

export async function redo(desk: Workbench, notebook: Notebook): Promise<void> {
  const answer = await desk.ask({ type: "redo", document: notebook.id });
  await selectFirst(notebook, answer?.cells ?? []);
}

async function selectFirst(notebook: Notebook, keys: readonly string[]): Promise<void> {
  const key = keys[0];
  const cell = key === undefined ? null : await whenPresent(notebook, key);
  if (cell) notebook.select(cell);
}

export async function remove(desk: Workbench, notebook: Notebook, word = "deleted"): Promise<void> {
  const cells = targets(notebook);
  if (cells.length === 0) return;
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

export async function split(desk: Workbench, notebook: Notebook, position: number): Promise<void> {
  const cell = notebook.active;
  if (!cell) return;
  await cell.settled();
  const answer = await desk.ask({ type: "split_cell", document: notebook.id, cell: cell.key, position });
  const key = answer?.cells[0];
  const next = key === undefined ? null : await whenPresent(notebook, key);
  if (next) notebook.select(next, "edit");
}

export async function merge(desk: Workbench, notebook: Notebook): Promise<void> {
  const cells = [...targets(notebook)];
  const below = notebook.active ? notebook.cells[notebook.indexOf(notebook.active) + 1] : undefined;
  if (cells.length === 1 && below) cells.push(below);
  if (cells.length < 2) return;
  await flush(notebook);
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
  const answer = await desk.ask({ type: "paste_cells", document: notebook.id, index, text });
  await selectFirst(notebook, answer?.cells ?? []);
}

// -------------------------------------------------------------------- the file

export async function save(desk: Workbench, notebook: Notebook): Promise<void> {
  if (notebook.status.path === null) {
    desk.overlay = { kind: "save-as", resource: null, name: notebook.status.title };
    return;
  }
  await saveAs(desk, notebook, null);
}

export async function saveAs(desk: Workbench, notebook: Notebook, path: string | null): Promise<boolean> {
  await flush(notebook);
  try {
    await desk.request({ type: "save", document: notebook.id, path, choice: "ask" });
    desk.announcer.say("Saved.");
    return true;
  } catch (error) {
    if (error instanceof OwnerError && error.code === "changed_on_disk") desk.overlay = { kind: "changed-on-disk" };
    else desk.fail(error);
    return false;
  }
}

export function close(desk: Workbench, notebook: Notebook): void {
  if (notebook.status.dirty) desk.overlay = { kind: "close", notebook: notebook.id };
  else void desk.close(notebook, false);
}

/** What the notebook's view listens for: a cell to show, and a line to put the caret in. */
export interface Reveal {
  readonly key: string;
  readonly line: number | null;
}

/** Goes to a cell and shows it; with a line, into it. */
export function goTo(notebook: Notebook, key: string, line: number | null = null): void {
  const cell = notebook.cell(key);
  if (!cell) return;
  notebook.select(cell, line === null ? "command" : "edit");
  document.dispatchEvent(new CustomEvent<Reveal>("sandbook:reveal", { detail: { key, line } }));
}
