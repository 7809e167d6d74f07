// Find's matches in outputs. What comes later (a line that is fetched, a table that is drawn when it is near) is looked at when it
// comes.

import type { OutputMatch } from "../platform";
import type { Find } from "../state/find.svelte";
import { bringIntoView, current, found, pieces, watch, type Piece } from "../shell/marks";

/** Marks more than these help nobody, and cost time. */
const MOST = 500;

/** Shows what a pattern finds below `root`; answers how to end that. */
export function showFound(root: HTMLElement, pattern: RegExp): () => void {
  const drawn = found;
  if (!drawn) return () => undefined;
  let ranges: readonly Range[] = [];
  const clear = (): void => ranges.forEach((range) => drawn.delete(range));
  const end = watch(root, () => {
    clear();
    ranges = rangesOf(root, pattern);
    for (const range of ranges) drawn.add(range);
  });
  return () => {
    end();
    clear();
  };
}

export interface Wanted {
  readonly match: OutputMatch;
  readonly pattern: RegExp;
  /** How many matches of the same output come before it. */
  readonly before: number;
  /** Who says whether the view is to be brought there. */
  readonly find: Pick<Find, "isDue" | "arrive">;
  /** Called with whether it is marked now; not before the output has had time to be drawn. */
  readonly placed: (marked: boolean) => void;
}

/** What is fetched is here after this time, or it is not coming. */
const PATIENCE_MS = 1200;
/** For so many frames the view is brought to a match again. */
const FRAMES = 8;

/** Marks the match that find is at and brings it into view; answers how to end that. */
export function showCurrent(root: HTMLElement, wanted: Wanted): () => void {
  let range: Range | null = null;
  let frame = 0;
  const output = [...root.querySelectorAll<HTMLElement>("[data-output]")].find(
    (node) => node.dataset.output === wanted.match.output,
  );
  if (!output) return () => undefined;
  if (wanted.find.isDue) output.scrollIntoView({ block: "nearest" });
  /** Rows above may still grow or fold: the view follows them for a few frames. */
  const hold = (frames: number): void => {
    frame = requestAnimationFrame(() => {
      if (range) bringIntoView(range);
      if (frames > 1) hold(frames - 1);
    });
  };
  const end = watch(output, () => {
    if (range && document.contains(range.startContainer) && range.toString() !== "") return;
    if (range) current?.delete(range);
    range = rangeOf(output, wanted);
    if (!range) return;
    current?.add(range);
    output.classList.remove("is-found");
    wanted.placed(true);
    if (wanted.find.arrive()) hold(FRAMES);
  });
  const patience = setTimeout(() => {
    if (range) return;
    wanted.find.arrive();
    output.classList.add("is-found");
    wanted.placed(false);
  }, PATIENCE_MS);
  return () => {
    end();
    clearTimeout(patience);
    cancelAnimationFrame(frame);
    output.classList.remove("is-found");
    if (range) current?.delete(range);
  };
}

/** Where a match is drawn, if it is. Text says its lines; elsewhere the same words around it tell, or else its turn. */
export function rangeOf(
  output: HTMLElement,
  { match, pattern, before }: Pick<Wanted, "match" | "pattern" | "before">,
): Range | null {
  const ranges = rangesOf(output, pattern);
  const there = ranges.find((range) => isAt(range, match));
  if (there) return there;
  const keepsLines = output.querySelector("[data-from], .tb") !== null;
  return keepsLines ? null : (ranges[Math.min(before, ranges.length - 1)] ?? null);
}

function isAt(range: Range, match: OutputMatch): boolean {
  const block = range.startContainer.parentElement?.closest<HTMLElement>("[data-from], .tb div, .txt");
  if (!block) return false;
  const head = document.createRange();
  head.setStart(block, 0);
  head.setEnd(range.startContainer, range.startOffset);
  const lines = head.toString().split("\n");
  if (lines.at(-1)?.length !== match.column) return false;
  const { from } = block.dataset;
  if (from !== undefined) return Number(from) + lines.length - 1 === match.line;
  return block.textContent.includes(match.excerpt);
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
