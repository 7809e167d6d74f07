// Replacing in sources. Everything a "Replace all" changed can be taken back at once.

import type { Cell } from "../state/cell.svelte";
import { hitsIn, type Hit } from "../state/find.svelte";
import type { Notebook } from "../state/notebook.svelte";
import type { Workbench } from "../state/workbench.svelte";

const wanted = (desk: Workbench, cell: Cell): boolean => (cell.kind === "code" ? desk.find.inCode : desk.find.inText);

/** What stands in place of a match: `$1` only means something in a regular expression. */
const replacementOf = (desk: Workbench): string =>
  desk.find.regex ? desk.find.replacement : desk.find.replacement.replaceAll("$", "$$$$");

export function replaceOne(desk: Workbench, notebook: Notebook, hit: Hit, pattern: RegExp): void {
  const cell = notebook.cell(hit.cell);
  if (!cell || hit.where === "output") return;
  const single = new RegExp(pattern.source, pattern.flags.replace("g", ""));
  const matched = cell.text.slice(hit.from, hit.to);
  const text = cell.text.slice(0, hit.from) + matched.replace(single, replacementOf(desk)) + cell.text.slice(hit.to);
  cell.replace(text);
  desk.pump(notebook, cell);
}

export interface Replaced {
  readonly places: number;
  readonly cells: number;
  readonly undo: () => void;
}

export function replaceAll(desk: Workbench, notebook: Notebook, pattern: RegExp): Replaced {
  const before = new Map<string, string>();
  let places = 0;
  const pool = desk.find.selectedOnly ? notebook.selection : notebook.cells;
  for (const cell of pool) {
    if (!wanted(desk, cell) || cell.kind === "broken") continue;
    const hits = hitsIn(cell, pattern);
    if (hits.length === 0) continue;
    places += hits.length;
    before.set(cell.key, cell.text);
    cell.replace(cell.text.replace(pattern, replacementOf(desk)));
    desk.pump(notebook, cell);
  }
  const undo = (): void => {
    for (const [key, text] of before) {
      const cell = notebook.cell(key);
      if (!cell) continue;
      cell.replace(text);
      desk.pump(notebook, cell);
    }
  };
  return { places, cells: before.size, undo };
}
