// Which cells an action means, and how to wait for the owner.

import type { Cell } from "../cell.svelte";
import type { Notebook } from "../notebook.svelte";

/** The selected cells, else the active one. */
export const targets = (notebook: Notebook): readonly Cell[] => {
  const selected = notebook.selection;
  return selected.length > 0 ? selected : notebook.active ? [notebook.active] : [];
};

export const keysOf = (cells: readonly Cell[]): string[] => cells.map((cell) => cell.key);

/** Waits until every cell's text is with the owner, so that what runs or moves is what is seen. Nothing where it is. */
export function flush(notebook: Notebook): Promise<unknown> | null {
  const open = notebook.cells.filter((cell) => !cell.synced);
  return open.length === 0 ? null : Promise.all(open.map((cell) => cell.settled()));
}

/** A reply can overtake the patch that brings what it is about, by a frame and not by more. */
async function until(isHere: () => boolean): Promise<void> {
  for (let i = 0; i < 50 && !isHere(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The cell with this key, once its patch is here. */
export async function whenPresent(notebook: Notebook, key: string | undefined): Promise<Cell | null> {
  if (key === undefined) return null;
  await until(() => notebook.cell(key) !== undefined);
  return notebook.cell(key) ?? null;
}

/** Whether a cell is gone, once its patch had time to come. */
export async function whenGone(notebook: Notebook, cell: Cell): Promise<boolean> {
  const isGone = (): boolean => notebook.indexOf(cell) < 0;
  await until(isGone);
  return isGone();
}

/** Waits until the patches that change these cells' sources are here. */
export const whenRevised = (revisions: ReadonlyMap<Cell, number>): Promise<void> =>
  until(() => [...revisions].every(([cell, before]) => cell.source.revision > before));
