// Rows stand in the page in groups of a few dozen. A browser skips a whole group that is out of view at the price of one
// element; with thousands of rows side by side it would look at each of them for every key that is pressed. A row keeps its
// group while the notebook changes around it, because moving a row would load its frames again.

import type { Cell } from "../state/cell.svelte";

export interface Chunk {
  readonly id: number;
  readonly cells: readonly Cell[];
}

/** Rows of a group when a notebook is opened; insertions may make it larger. */
export const CHUNK = 40;

interface Run {
  id: number;
  cells: Cell[];
}

const sameCells = (a: readonly Cell[], b: readonly Cell[]): boolean =>
  a.length === b.length && a.every((cell, i) => cell === b[i]);

export class Chunks {
  readonly #home = new Map<Cell, number>();
  #last: readonly Chunk[] = [];
  #next = 1;

  /** The groups of these cells. A group that did not change is the same object as before. */
  of(cells: readonly Cell[]): readonly Chunk[] {
    const runs = this.#settle(this.#runs(cells));
    const before = new Map(this.#last.map((chunk) => [chunk.id, chunk]));
    this.#home.clear();
    this.#last = runs.map((run) => {
      for (const cell of run.cells) this.#home.set(cell, run.id);
      const known = before.get(run.id);
      return known && sameCells(known.cells, run.cells) ? known : run;
    });
    return this.#last;
  }

  /** Neighbours with the same group. A new cell joins the one before it, while that one has room at its end. */
  #runs(cells: readonly Cell[]): Run[] {
    const runs: Run[] = [];
    for (const [index, cell] of cells.entries()) {
      const run = runs.at(-1);
      const home = this.#home.get(cell);
      const next = cells[index + 1];
      const inside = run !== undefined && next !== undefined && this.#home.get(next) === run.id;
      const joins = run && (home === run.id || (home === undefined && (inside || run.cells.length < CHUNK)));
      if (joins) run.cells.push(cell);
      else runs.push({ id: home ?? this.#next++, cells: [cell] });
    }
    return runs;
  }

  /** Where a group fell apart because cells moved, what came between joins it, or its longest part keeps the name. */
  #settle(runs: readonly Run[]): Run[] {
    const whole = this.#close(runs, longestOf(runs));
    const longest = longestOf(whole);
    const out: Run[] = [];
    for (const run of whole) {
      const last = out.at(-1);
      const stays = longest.get(run.id) === run;
      if (last && !stays) last.cells.push(...run.cells);
      else out.push(stays ? run : { id: this.#next++, cells: run.cells });
    }
    return out;
  }

  /** Closes groups over strays that landed inside them. */
  #close(runs: readonly Run[], longest: ReadonlyMap<number, Run>): Run[] {
    const out: { run: Run; stray: boolean }[] = [];
    for (const run of runs) {
      const at = out.findLastIndex((entry) => entry.run.id === run.id);
      const opened = out[at];
      if (opened && out.slice(at + 1).every((entry) => entry.stray)) {
        for (const entry of out.splice(at + 1)) opened.run.cells.push(...entry.run.cells);
        opened.run.cells.push(...run.cells);
        opened.stray = false;
      } else {
        out.push({ run, stray: longest.get(run.id) !== run });
      }
    }
    return out.map((entry) => entry.run);
  }
}

function longestOf(runs: readonly Run[]): Map<number, Run> {
  const longest = new Map<number, Run>();
  for (const run of runs) {
    const other = longest.get(run.id);
    if (!other || run.cells.length > other.cells.length) longest.set(run.id, run);
  }
  return longest;
}
