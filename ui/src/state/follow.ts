// Which hit find is at when what was found changed below it: the same one, or the next.

import type { Cell } from "./cell.svelte";
import type { Hit } from "./find.svelte";

/** A place in a cell's source. */
export interface Place {
  readonly cell: string;
  readonly from: number;
}

/** Where cells stand. */
export type Positions = ReadonlyMap<string, number>;

export const positionsOf = (cells: readonly Cell[]): Positions =>
  new Map(cells.map((cell, index) => [cell.key, index]));

/** A hit's place as numbers that compare from the left. The source of a cell comes before its outputs. */
function orderOf(hit: Hit, positions: Positions): readonly number[] {
  const cell = positions.get(hit.cell) ?? -1;
  return hit.output ? [cell, 1, hit.output.line, hit.output.column] : [cell, 0, hit.from, 0];
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((number, i) => number !== b[i]);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

/** The place of the first hit that is not before `order`; of the last one where there is none, or of the first. */
function firstFrom(
  hits: readonly Hit[],
  order: readonly number[],
  positions: Positions,
  none: "first" | "last",
): number {
  const next = hits.findIndex((hit) => !isBefore(orderOf(hit, positions), order));
  return next >= 0 ? next : none === "first" ? 0 : hits.length - 1;
}

/** The place in `now` of the hit that find was at; of the first one from a place on, where there is one. */
export function follow(
  before: { readonly hits: readonly Hit[]; readonly at: number },
  now: readonly Hit[],
  positions: Positions,
  from: Place | null,
): number {
  if (now.length === 0) return -1;
  if (from) return firstFrom(now, [positions.get(from.cell) ?? -1, 0, from.from, 0], positions, "first");
  const hit = before.hits[before.at];
  if (!hit || !positions.has(hit.cell)) return Math.min(Math.max(0, before.at), now.length - 1);
  const same = now.indexOf(hit);
  if (same >= 0) return same;
  // As many as before in this source: the text around them changed.
  const isNear = (other: Hit): boolean => other.cell === hit.cell && other.output === null;
  const [were, are] = [before.hits.filter(isNear), now.filter(isNear)];
  const turn = were.length === are.length ? are[were.indexOf(hit)] : undefined;
  return turn ? now.indexOf(turn) : firstFrom(now, orderOf(hit, positions), positions, "last");
}
