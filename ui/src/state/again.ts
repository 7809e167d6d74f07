// The cells of a notebook in an owner that started again. It may call them by other names, or others by theirs: what they are
// is told by their text and their place.

import type { CellView } from "../platform";
import type { Cell } from "./cell.svelte";

/** For each cell of now, the cell of before that goes on in it, if there is one. */
export function matchCells(before: readonly Cell[], now: readonly CellView[]): (Cell | null)[] {
  const left = new Set(before);
  const found: (Cell | null)[] = now.map(() => null);
  const take = (index: number, cell: Cell): void => {
    found[index] = cell;
    left.delete(cell);
  };
  const each = (visit: (view: CellView, index: number) => void): void => {
    for (const [index, view] of now.entries()) if (!found[index]) visit(view, index);
  };
  each((view, index) => {
    const here = before[index];
    if (here?.continuesIn(view)) take(index, here);
  });
  each((view, index) => {
    const same = [...left].filter((cell) => cell.continuesIn(view));
    const others = now.filter((other, at) => !found[at] && same[0]?.continuesIn(other));
    if (same[0] && same.length === 1 && others.length === 1) take(index, same[0]);
  });
  // The same place with another text: the owner had not got as far as this page, or the file changed. Nothing typed is at stake.
  each((view, index) => {
    const here = before[index];
    if (before.length === now.length && here && left.has(here) && here.synced && here.kind === view.kind)
      take(index, here);
  });
  return found;
}
