// Find's matches in still text.

import type { Hit } from "../state/find.svelte";

interface Piece {
  readonly node: Text;
  readonly start: number;
}

function pieces(root: HTMLElement): Piece[] {
  const out: Piece[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let start = 0;
  for (let node = walker.nextNode(); node instanceof Text; node = walker.nextNode()) {
    out.push({ node, start });
    start += node.data.length;
  }
  return out;
}

function wrap(node: Text, from: number, to: number, current: boolean): void {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  const mark = document.createElement("mark");
  if (current) mark.className = "on";
  range.surroundContents(mark);
}

/** Marks the hits below `root`; answers how to take the marks away again. */
export function markHits(root: HTMLElement, hits: readonly Hit[], current: Hit | null): () => void {
  if (hits.length === 0) return () => undefined;
  const parts = pieces(root);
  // From the end, so that earlier places stay where they are.
  for (const hit of hits.toReversed()) {
    for (const part of parts.toReversed()) {
      const end = part.start + part.node.data.length;
      const [from, to] = [Math.max(hit.from, part.start), Math.min(hit.to, end)];
      if (from < to) wrap(part.node, from - part.start, to - part.start, hit === current);
    }
  }
  return () => {
    for (const mark of root.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
    root.normalize();
  };
}

/** Ranges drawn as found, of all outputs together: a highlight touches no node, so what streams in stays whole. */
const found = typeof Highlight === "undefined" ? null : new Highlight();
/** Marks more than these help nobody, and cost time. */
const MOST = 500;

/** Shows what a pattern finds below `root`; answers how to end that. */
export function showFound(root: HTMLElement, pattern: RegExp): () => void {
  const ranges = found ? rangesOf(root, pattern) : [];
  for (const range of ranges) found?.add(range);
  if (found) CSS.highlights.set("found", found);
  return () => {
    for (const range of ranges) found?.delete(range);
  };
}

export function rangesOf(root: HTMLElement, pattern: RegExp): Range[] {
  const parts = pieces(root);
  const text = parts.map((part) => part.node.data).join("");
  const ranges: Range[] = [];
  let p = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === "" || ranges.length >= MOST) break;
    const end = match.index + match[0].length;
    const at = (place: number): Piece | undefined => {
      while ((parts[p + 1]?.start ?? Infinity) <= place) p += 1;
      return parts[p];
    };
    const first = at(match.index);
    const last = at(end - 1);
    if (!first || !last) break;
    const range = document.createRange();
    range.setStart(first.node, match.index - first.start);
    range.setEnd(last.node, end - last.start);
    ranges.push(range);
  }
  return ranges;
}
