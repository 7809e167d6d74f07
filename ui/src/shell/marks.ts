// Find's matches, drawn as highlights. Highlights touch no node: what is marked stays its owner's, who may replace it at any time.
// Where a browser has none, nothing is marked; find still goes to each match.

import type { Hit } from "../state/find.svelte";

const isDrawn = typeof Highlight !== "undefined";
/** Ranges drawn as found, of all cells together. */
export const found = isDrawn ? new Highlight() : null;
/** The one that find is at. */
export const current = isDrawn ? new Highlight() : null;
if (found) CSS.highlights.set("found", found);
if (current) {
  current.priority = 1;
  CSS.highlights.set("found-current", current);
}

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

/** What is drawn between two places of the text below `root`; null where the text ends before. */
function rangeBetween(parts: readonly Piece[], from: number, to: number): Range | null {
  const at = (place: number): Piece | undefined =>
    parts.find((part) => part.start <= place && place < part.start + part.node.data.length);
  const [first, last] = [at(from), at(to - 1)];
  if (!first || !last) return null;
  const range = document.createRange();
  range.setStart(first.node, from - first.start);
  range.setEnd(last.node, to - last.start);
  return range;
}

/** A flood is looked at again after so long. */
const PAUSE_MS = 200;

/** Calls `look` now and whenever something below `root` changed; answers how to end that. */
export function watch(root: HTMLElement, look: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const observer = new MutationObserver(() => {
    timer ??= setTimeout(() => {
      timer = undefined;
      look();
    }, PAUSE_MS);
  });
  observer.observe(root, { childList: true, characterData: true, subtree: true });
  look();
  return () => {
    observer.disconnect();
    clearTimeout(timer);
  };
}

/** Scrolls whatever scrolls around a range, from the inside out, just far enough. */
export function bringIntoView(range: Range): void {
  const room = 24;
  for (let node = range.startContainer.parentElement; node; node = node.parentElement) {
    const scrolls = /auto|scroll/.test(`${getComputedStyle(node).overflowY}${getComputedStyle(node).overflowX}`);
    if (!scrolls) continue;
    const [view, box] = [node.getBoundingClientRect(), range.getBoundingClientRect()];
    const by = (start: number, end: number, from: number, to: number): number =>
      start < from + room ? start - from - room : end > to - room ? Math.min(end - to + room, start - from - room) : 0;
    node.scrollTop += by(box.top, box.bottom, view.top, view.bottom);
    node.scrollLeft += by(box.left, box.right, view.left, view.right);
  }
}

/** Shows the hits below `root`, whose text they count in; answers how to end that. The one that find is at is brought into view
 * where `arrive` says so. */
export function showHits(root: HTMLElement, hits: readonly Hit[], at: Hit | null, arrive: () => boolean): () => void {
  if (!found || !current || hits.length === 0) return () => undefined;
  let ranges: Range[] = [];
  const clear = (): void => {
    for (const range of ranges) if (!found.delete(range)) current.delete(range);
  };
  const end = watch(root, () => {
    clear();
    ranges = [];
    const parts = pieces(root);
    for (const hit of hits) {
      const range = rangeBetween(parts, hit.from, hit.to);
      if (!range) continue;
      ranges.push(range);
      (hit === at ? current : found).add(range);
      if (hit === at && arrive()) bringIntoView(range);
    }
  });
  return () => {
    end();
    clear();
  };
}
