// Long text shows its first four and last three lines with a fold row between; "Show 200 more" grows the head, and what the
// page does not hold is asked from the owner.

export const FOLD_OVER = 200;
export const FOLD_HEAD = 4;
export const FOLD_TAIL = 3;
export const SHOW_MORE = 200;

export interface FoldPlan {
  /** Lines shown from the start. */
  readonly head: number;
  /** Lines hidden between. */
  readonly hidden: number;
  /** Lines shown at the end. */
  readonly tail: number;
}

/** `extra` is how many lines the person has unfolded so far, `Infinity` for all. */
export function planFold(total: number, extra: number, over = FOLD_OVER): FoldPlan {
  if (total <= over) return { head: total, hidden: 0, tail: 0 };
  const head = Math.min(total - FOLD_TAIL, FOLD_HEAD + extra);
  const hidden = total - FOLD_TAIL - head;
  return hidden <= 0 ? { head: total, hidden: 0, tail: 0 } : { head, hidden, tail: FOLD_TAIL };
}
