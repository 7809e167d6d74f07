// Replacing in sources. Everything a "Replace all" changed is one change of the document, which one undo takes back.

import { whenRevised } from "../state/actions/targets";
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
}

/** Answers null where nothing was replaced, and the person knows why. */
export async function replaceAll(desk: Workbench, notebook: Notebook, pattern: RegExp): Promise<Replaced | null> {
  const replacement = replacementOf(desk);
  const pool = desk.find.selectedOnly ? notebook.selection : notebook.cells;
  const cells = pool.filter((cell) => wanted(desk, cell) && cell.kind !== "broken");
  // What was typed a moment ago is in the text that is replaced.
  await Promise.all(cells.map((cell) => cell.settled()));
  const places = new Map(cells.map((cell) => [cell, hitsIn(cell, pattern).length]));
  const found = cells.filter((cell) => places.get(cell));
  const sources = found.map((cell) => ({
    cell: cell.key,
    base_revision: cell.source.revision,
    source: cell.text.replace(pattern, replacement),
  }));
  const revisions = new Map(found.map((cell) => [cell, cell.source.revision]));
  if (!(await desk.ask({ type: "replace_sources", document: notebook.id, sources }))) return null;
  await whenRevised(revisions);
  return { places: found.reduce((sum, cell) => sum + (places.get(cell) ?? 0), 0), cells: found.length };
}
