// Replacing in sources. Everything that one press changed is one change of the document, which one undo takes back.

import { whenRevised } from "../state/actions/targets";
import type { Cell } from "../state/cell.svelte";
import { hitsIn, type Hit } from "../state/find.svelte";
import type { Place } from "../state/follow";
import type { Notebook } from "../state/notebook.svelte";
import type { Workbench } from "../state/workbench.svelte";

const wanted = (desk: Workbench, cell: Cell): boolean => (cell.kind === "code" ? desk.find.inCode : desk.find.inText);

/** What stands in place of a match: `$1` only means something in a regular expression. */
const replacementOf = (desk: Workbench): string =>
  desk.find.regex ? desk.find.replacement : desk.find.replacement.replaceAll("$", "$$$$");

/** Gives cells their texts, all of them or none. Answers false where none got it, and the person knows why. */
async function become(desk: Workbench, notebook: Notebook, texts: ReadonlyMap<Cell, string>): Promise<boolean> {
  const before = new Map([...texts.keys()].map((cell) => [cell, cell.source.revision]));
  const sources = [...texts].map(([cell, source]) => ({
    cell: cell.key,
    base_revision: cell.source.revision,
    source,
  }));
  if (!(await desk.ask({ type: "replace_sources", document: notebook.id, sources }))) return false;
  await whenRevised(before);
  notebook.replaced = new Map([...texts.keys()].map((cell) => [cell, cell.source.revision]));
  return true;
}

/** Answers the place behind what was put there; null where the match is not there any more, or nothing was replaced. */
export async function replaceOne(
  desk: Workbench,
  notebook: Notebook,
  hit: Hit,
  pattern: RegExp,
): Promise<Place | null> {
  const cell = notebook.cell(hit.cell);
  if (!cell || hit.where === "output" || cell.kind === "broken") return null;
  // What was typed a moment ago may have moved the match.
  await cell.settled();
  const { text } = cell;
  const here = new RegExp(pattern.source, `${pattern.flags.replace("g", "")}y`);
  here.lastIndex = hit.from;
  if (here.exec(text)?.[0].length !== hit.to - hit.from) return null;
  here.lastIndex = hit.from;
  const next = text.replace(here, replacementOf(desk));
  if (next !== text && !(await become(desk, notebook, new Map([[cell, next]])))) return null;
  return { cell: cell.key, from: hit.to + next.length - text.length };
}

export interface Replaced {
  readonly places: number;
  readonly cells: number;
}

/** Answers null where nothing was replaced, and the person knows why. */
export async function replaceAll(desk: Workbench, notebook: Notebook, pattern: RegExp): Promise<Replaced | null> {
  const replacement = replacementOf(desk);
  const pool = desk.find.selectedOnly ? desk.find.scope : notebook.cells;
  const cells = pool.filter((cell) => wanted(desk, cell) && cell.kind !== "broken");
  // What was typed a moment ago is in the text that is replaced.
  await Promise.all(cells.map((cell) => cell.settled()));
  const places = new Map(cells.map((cell) => [cell, hitsIn(cell, pattern).length]));
  const found = cells.filter((cell) => places.get(cell));
  const texts = new Map(found.map((cell) => [cell, cell.text.replace(pattern, replacement)]));
  if (!(await become(desk, notebook, texts))) return null;
  return { places: found.reduce((sum, cell) => sum + (places.get(cell) ?? 0), 0), cells: found.length };
}
