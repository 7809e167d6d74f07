// One cell's source between this page and the owner. The page is optimistic: what is typed shows at once. At most one edit is
// on its way; what is typed meanwhile is gathered and follows when the first is acknowledged. Edits of others are rebased the
// way the owner does it (an accepted edit comes first), so that both ends arrive at the same text.
//
// Pure: every function takes a state and gives the next.

import { ChangeSet } from "@codemirror/state";

import type { SourceEdit } from "../platform";

export interface Source {
  /** What this page shows. */
  readonly text: string;
  /** What the owner has: `text` without `sent` and `unsent`. */
  readonly base: string;
  /** The owner's revision of `base`. */
  readonly revision: number;
  /** On its way to the owner. */
  readonly sent: ChangeSet | null;
  /** Typed since. */
  readonly unsent: ChangeSet | null;
}

export const sourceOf = (text: string, revision: number): Source => ({
  text,
  base: text,
  revision,
  sent: null,
  unsent: null,
});

/** Whether the owner has everything. */
export const settled = (source: Source): boolean => source.sent === null && source.unsent === null;

export function applyEdits(text: string, edits: readonly SourceEdit[]): string {
  let out = "";
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.from) + edit.insert;
    at = edit.to;
  }
  return out + text.slice(at);
}

/** Ranges that touch stay apart: how changes are rebased depends on it, here and at the owner. */
export function editsOf(changes: ChangeSet): SourceEdit[] {
  const edits: SourceEdit[] = [];
  changes.iterChanges((from, to, _fromB, _toB, text) => edits.push({ from, to, insert: text.toString() }), true);
  return edits;
}

/** A change set over a text of `length`; a line break is always one `\n`. */
export const changesOf = (edits: readonly SourceEdit[], length: number): ChangeSet =>
  ChangeSet.of(
    edits.map((edit) => ({ from: edit.from, to: edit.to, insert: edit.insert })),
    length,
    "\n",
  );

export function edit(source: Source, changes: ChangeSet): Source {
  return {
    ...source,
    text: applyEdits(source.text, editsOf(changes)),
    unsent: source.unsent ? source.unsent.compose(changes) : changes,
  };
}

/** The next edit to send, if none is on its way. */
export function take(source: Source): { readonly source: Source; readonly edits: SourceEdit[] } | null {
  if (source.sent || !source.unsent) return null;
  const edits = editsOf(source.unsent);
  // What is kept is what is sent: the two ends rebase it later, and where changes touch, their form decides.
  const sent = changesOf(edits, source.unsent.length);
  return { source: { ...source, sent, unsent: null }, edits };
}

const applied = (text: string, changes: ChangeSet | null): string =>
  changes ? applyEdits(text, editsOf(changes)) : text;

export const acknowledge = (source: Source, revision: number): Source => ({
  ...source,
  base: applied(source.base, source.sent),
  revision,
  sent: null,
});

/** The length of the text that the owner's next edit means. */
const ownerLength = (source: Source): number => source.sent?.length ?? source.unsent?.length ?? source.text.length;

/** Somebody else's edit; `changes` is what an editor that shows `source.text` has to apply. */
export function receive(
  source: Source,
  edits: readonly SourceEdit[],
  revision: number,
): { readonly source: Source; readonly changes: ChangeSet } {
  let changes = changesOf(edits, ownerLength(source));
  let { sent, unsent } = source;
  if (sent) {
    const rebased = sent.map(changes);
    changes = changes.map(sent, true);
    sent = rebased;
  }
  if (unsent) {
    const rebased = unsent.map(changes);
    changes = changes.map(unsent, true);
    unsent = rebased;
  }
  const base = applyEdits(source.base, edits);
  return { source: { text: applyEdits(source.text, editsOf(changes)), base, revision, sent, unsent }, changes };
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** The smallest single edit that turns one text into another. It never cuts a character in two: no UTF-8 says half of one. */
export function difference(from: string, to: string): SourceEdit | null {
  if (from === to) return null;
  let start = 0;
  const least = Math.min(from.length, to.length);
  while (start < least && from.charCodeAt(start) === to.charCodeAt(start)) start += 1;
  if (start > 0 && isHigh(from.charCodeAt(start - 1))) start -= 1;
  let end = 0;
  while (end < least - start && from.charCodeAt(from.length - 1 - end) === to.charCodeAt(to.length - 1 - end)) end += 1;
  if (end > 0 && isLow(from.charCodeAt(from.length - end))) end -= 1;
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) };
}

/** Whether an owner's text is the one that this page's edits go on top of: before what was on its way, or after it. */
export const continues = (source: Source, text: string): boolean =>
  text === source.base || text === applied(source.base, source.sent);

/**
 * After a gap: the owner's text is the base again, and what this page had not got through is put on top. What was on its way
 * may have arrived; then only the rest is left.
 */
export function resume(source: Source, text: string, revision: number): Source {
  if (settled(source) || text === source.text) return sourceOf(text, revision);
  const { sent, unsent } = source;
  if (sent && text === applied(source.base, sent)) return { ...source, base: text, revision, sent: null };
  const own = sent && unsent ? sent.compose(unsent) : (sent ?? unsent);
  if (!own) return sourceOf(text, revision);
  const theirs = difference(source.base, text);
  const rebased = theirs ? own.map(changesOf([theirs], source.base.length)) : own;
  return { text: applied(text, rebased), base: text, revision, sent: null, unsent: rebased };
}
