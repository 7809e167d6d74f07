// Saving and closing, and going to a place.

import { OwnerError, type SandboxChoice, type SaveChoice } from "../../platform";
import type { Notebook } from "../notebook.svelte";
import type { Workbench } from "../workbench.svelte";
import { endsWhileRunning, moveTo } from "./run";
import { flush } from "./targets";

export async function save(desk: Workbench, notebook: Notebook): Promise<void> {
  if (notebook.status.path === null) {
    desk.overlay = { kind: "save-as", resource: null, name: notebook.status.title };
    return;
  }
  await saveAs(desk, notebook, null);
}

/** Saves; `exists` says that another file would be replaced, and that nothing was written. */
export async function saveAs(
  desk: Workbench,
  notebook: Notebook,
  path: string | null,
  choice: SaveChoice = "ask",
): Promise<"saved" | "exists" | "failed"> {
  await flush(notebook);
  try {
    await desk.request({ type: "save", document: notebook.id, path, choice });
    desk.announcer.say("Saved.");
    return "saved";
  } catch (error) {
    const changed = error instanceof OwnerError && error.code === "changed_on_disk";
    if (changed && path !== null) return "exists";
    if (changed) desk.overlay = { kind: "changed-on-disk" };
    else desk.fail(error);
    return "failed";
  }
}

/** Writes an output to a file; `exists` as above. */
export async function saveOutput(
  desk: Workbench,
  resource: string,
  path: string,
  replace: boolean,
): Promise<"saved" | "exists" | "failed"> {
  try {
    await desk.request({ type: "save_resource", resource, path, replace });
    return "saved";
  } catch (error) {
    if (error instanceof OwnerError && error.code === "file_exists") return "exists";
    desk.fail(error);
    return "failed";
  }
}

export function close(desk: Workbench, notebook: Notebook): void {
  if (endsWhileRunning(desk, notebook)) desk.overlay = { kind: "leave", notebook: notebook.id, next: null };
  else closeFile(desk, notebook);
}

function closeFile(desk: Workbench, notebook: Notebook): void {
  if (notebook.status.dirty) desk.overlay = { kind: "close", notebook: notebook.id };
  else void desk.close(notebook, false);
}

/** Leaves a sandbox where cells run, for another one or because the notebook is closed. */
export async function leave(
  desk: Workbench,
  notebook: Notebook,
  next: SandboxChoice | null,
  keep: boolean,
): Promise<void> {
  const sandbox = notebook.status.sandbox;
  if (keep && sandbox !== null && !(await desk.ask({ type: "keep_sandbox", sandbox, keep: true }))) return;
  if (next) await moveTo(desk, notebook, next);
  else closeFile(desk, notebook);
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
