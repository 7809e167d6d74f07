// Find's matches in still text.

import type { Hit } from "../state/find.svelte";

export interface Piece {
  readonly node: Text;
  readonly start: number;
}

export function pieces(root: HTMLElement): Piece[] {
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
  root.querySelector("mark.on")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  return () => {
    for (const mark of root.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
    root.normalize();
  };
}
