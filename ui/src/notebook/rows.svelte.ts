// The rows of one notebook: which are drawn, and where the view stands. Rows stay in the page in a stable order, they are never
// taken out: a frame that is moved would load again. What is far away is empty and gets drawn when it comes near, or when the
// page has nothing else to do.

import { flushSync } from "svelte";

import { isCalm } from "./calm";

export interface Row {
  readonly node: HTMLElement;
  readonly draw: () => void;
  readonly focus: (line: number | null) => Promise<void>;
}

/** Rows nearer than this are drawn, in CSS pixels above and below the view. */
const MARGIN = 900;
/** Work done for far rows in one frame, in milliseconds. */
const SLICE_MS = 6;
/** Where a row is looked for that shall stay in place, in CSS pixels below the view's top. */
const PROBES = [4, 24, 64, 160];
/** The end of the notebook counts as seen when it is this close; the view then follows what is printed. */
const TAIL = 140;
/** Above this many cells, far rows are left alone until somebody goes there. */
const DRAW_ALL = 1500;

export class Rows {
  readonly #rows = new Map<string, Row>();
  readonly #far = new Set<string>();
  readonly #scroller: HTMLElement;
  readonly #near: IntersectionObserver;
  readonly #sizes: ResizeObserver;
  readonly #following: () => boolean;
  #anchor: { readonly node: HTMLElement; readonly top: number } | null = null;
  /** Where the view stood when the anchor was taken. */
  #at = 0;
  #tail = false;
  #frame = 0;
  #complete = false;

  /** `following` says whether something runs whose output may be followed. */
  constructor(scroller: HTMLElement, following: () => boolean) {
    this.#scroller = scroller;
    this.#following = following;
    this.#near = new IntersectionObserver((entries) => this.#approached(entries), {
      root: scroller,
      rootMargin: `${MARGIN}px 0px`,
    });
    this.#sizes = new ResizeObserver(() => this.#hold());
  }

  add(key: string, row: Row): () => void {
    this.#rows.set(key, row);
    this.#far.add(key);
    this.#near.observe(row.node);
    this.#later();
    return () => {
      this.#rows.delete(key);
      this.#far.delete(key);
      this.#near.unobserve(row.node);
      this.#sizes.unobserve(row.node);
    };
  }

  element(key: string): HTMLElement | undefined {
    return this.#rows.get(key)?.node;
  }

  row(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  destroy(): void {
    cancelAnimationFrame(this.#frame);
    this.#near.disconnect();
    this.#sizes.disconnect();
  }

  #approached(entries: readonly IntersectionObserverEntry[]): void {
    for (const entry of entries) {
      if (!entry.isIntersecting || !(entry.target instanceof HTMLElement)) continue;
      this.#draw(entry.target.dataset.key ?? "");
    }
  }

  #draw(key: string): void {
    const row = this.#rows.get(key);
    if (!row || !this.#far.delete(key)) return;
    this.#near.unobserve(row.node);
    this.#sizes.observe(row.node);
    row.draw();
  }

  /** All rows of the notebook are here now. */
  complete(): void {
    this.#complete = true;
    this.#later();
  }

  /** Draws far rows a few at a time, frame by frame. */
  #later(): void {
    if (this.#frame !== 0 || !this.#complete) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#rows.size > DRAW_ALL || this.#far.size === 0) return;
      const until = performance.now() + (isCalm() ? SLICE_MS : 0);
      for (const key of this.#far) {
        if (performance.now() >= until) break;
        // Drawn here and now, or the clock would say that it took no time and all would be drawn at once, later.
        flushSync(() => this.#draw(key));
      }
      if (this.#far.size > 0) this.#later();
    });
  }

  // ------------------------------------------------------------------ the view stays where it is

  /** Remembers the row at the top of the view. WebKit has no scroll anchoring, so the page does it, for every browser alike. */
  remember(retries = 5): void {
    const view = this.#scroller.getBoundingClientRect();
    this.#anchor = null;
    for (const down of PROBES) {
      const hit = document.elementFromPoint(view.left + view.width / 2, view.top + down);
      // One of many outputs of a cell is as good as a row: the cell itself may begin far above.
      const row = hit?.closest<HTMLElement>(".out--many, .cell");
      if (!row) continue;
      this.#anchor = { node: row, top: row.getBoundingClientRect().top - view.top };
      break;
    }
    // After a jump there is nothing to be hit until the browser has drawn the place.
    if (!this.#anchor && this.#rows.size > 0 && retries > 0) requestAnimationFrame(() => this.remember(retries - 1));
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    this.#at = scrollTop;
    this.#tail = scrollHeight - scrollTop - clientHeight < TAIL;
  }

  /** Something above grew or shrank: the scroll position follows, so that what is read does not move. */
  #hold(): void {
    // Somebody has scrolled and the event is still to come: what was the anchor before is none any more.
    if (this.#scroller.scrollTop !== this.#at) {
      this.remember();
      return;
    }
    if (this.#tail && this.#following()) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
    } else if (this.#anchor?.node.isConnected && this.#scroller.scrollTop > 0) {
      const top = this.#anchor.node.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
      const moved = top - this.#anchor.top;
      if (Math.abs(moved) >= 1) this.#scroller.scrollTop += moved;
    }
    this.#at = this.#scroller.scrollTop;
  }

  /** Brings a row into view, with as little movement as does it. */
  reveal(key: string): void {
    const node = this.element(key);
    if (!node) return;
    this.#draw(key);
    const view = this.#scroller.getBoundingClientRect();
    const box = node.getBoundingClientRect();
    const room = 12;
    if (box.top < view.top + room) this.#scroller.scrollTop += box.top - view.top - room;
    else if (box.bottom > view.bottom - room && box.height < view.height - 2 * room)
      this.#scroller.scrollTop += box.bottom - view.bottom + room;
    else if (box.top > view.bottom - 60) this.#scroller.scrollTop += box.top - view.top - room;
  }
}
