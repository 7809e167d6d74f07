// A line that is too long for the page, looked at through a window: the next piece comes at its end, and what the page cannot hold
// beside it goes at its beginning, to be fetched again when the person turns back. Pure.

import type { TextLine } from "../platform";
import { MOST } from "./choose";

export interface Piece {
  /** What the owner was asked for: where in the line it begins. */
  readonly offset: number;
  readonly line: TextLine;
}

export interface LineWindow {
  /** Pieces that follow each other; at least one. */
  readonly pieces: readonly Piece[];
  /** Where the pieces before them begin. */
  readonly before: readonly number[];
}

export const windowOf = (line: TextLine): LineWindow => ({ pieces: [{ offset: 0, line }], before: [] });

export const held = ({ pieces }: LineWindow): number => pieces.reduce((sum, { line }) => sum + line.text.length, 0);

/** The next piece, and what has to go for it. */
export function forward(window: LineWindow, piece: Piece, most = MOST): LineWindow {
  const pieces = [...window.pieces, piece];
  const before = [...window.before];
  while (pieces.length > 1 && held({ pieces, before }) > most) before.push(pieces.shift()?.offset ?? 0);
  return { pieces, before };
}

/** The piece before the first, and what has to go for it. */
export function back(window: LineWindow, piece: Piece, most = MOST): LineWindow {
  const pieces = [piece, ...window.pieces];
  while (pieces.length > 1 && held({ pieces, before: [] }) > most) pieces.pop();
  return { pieces, before: window.before.slice(0, -1) };
}

/** What is shown of the line. */
export function shownLine({ pieces }: LineWindow): TextLine {
  const last = pieces.at(-1)?.line;
  return {
    text: pieces.map(({ line }) => line.text).join(""),
    hidden: last?.hidden ?? 0,
    next: last?.next ?? 0,
  };
}
