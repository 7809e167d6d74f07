// All of a text output, though the page holds only some of it: lines in slices, and a long line in pieces.

import type { TextLine } from "../platform";

/** Asks the owner for lines; with an offset, for the rest of one line. Null when it did not answer. */
export type AskLines = (from: number, count: number, offset: number) => Promise<readonly TextLine[] | null>;

const SLICE = 2000;

/** The piece of a line that follows what is there of it, or null when there is none to be had. */
export async function nextPiece(ask: AskLines, index: number, line: TextLine): Promise<TextLine | null> {
  const piece = (await ask(index, 1, line.next))?.[0];
  // An offset that does not move would be asked for ever.
  if (!piece || piece.text === "" || (piece.hidden > 0 && piece.next <= line.next)) return null;
  return piece;
}

/** The line with its next piece, or null when there is none to be had. */
async function longer(ask: AskLines, index: number, line: TextLine): Promise<TextLine | null> {
  const piece = await nextPiece(ask, index, line);
  return piece && { ...piece, text: line.text + piece.text };
}

/** Every line in full, or null when the owner could not give all of it. */
export async function wholeText(ask: AskLines, total: number): Promise<string[] | null> {
  const lines: string[] = [];
  while (lines.length < total) {
    const slice = await ask(lines.length, SLICE, 0);
    if (!slice || slice.length === 0) return null;
    for (const short of slice) {
      let line = short;
      while (line.hidden > 0) {
        const next = await longer(ask, lines.length, line);
        if (!next) return null;
        line = next;
      }
      lines.push(line.text);
    }
  }
  return lines;
}
