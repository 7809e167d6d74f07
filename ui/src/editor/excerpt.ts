// The part of a source that a kernel is asked about. All of it while it is short. Of a long one what stands around the caret:
// sending and reading thousands of lines at each word would make the editor and the kernel slow, for names that the kernel's own
// variables and the editor's reading of the whole cell have anyway.

import type { Text } from "@codemirror/state";

/** Characters before the caret, and at most a quarter of that behind it. */
const BEFORE = 16 * 1024;

export interface Excerpt {
  readonly code: string;
  /** Where in the source it begins. */
  readonly from: number;
}

/** It begins at a line that is not indented, if there is one, so that it reads like a program. */
export function excerptAt(doc: Text, position: number): Excerpt {
  if (doc.length <= 2 * BEFORE) return { code: doc.toString(), from: 0 };
  const earliest = Math.max(0, position - BEFORE);
  const before = doc.sliceString(earliest, position);
  const start = earliest === 0 ? 0 : Math.max(0, before.search(/(?<=\n)[^\s)\]}]/));
  const from = earliest + start;
  return { code: doc.sliceString(from, Math.min(doc.length, position + BEFORE / 4)), from };
}
