// Pages of a long text, fetched as they come into view and dropped again: a million lines are looked at through a window.

import type { TextLine } from "../platform";

export const PAGE = 400;
const HELD = 8;

export type Fetch = (from: number, count: number) => Promise<readonly TextLine[] | null>;

export class Pages {
  #pages = $state.raw(new Map<number, readonly TextLine[]>());
  readonly #asked = new Set<number>();
  readonly #fetch: Fetch;

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  line(index: number): TextLine | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Sees to it that these lines arrive. */
  want(from: number, to: number): void {
    for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) {
      if (this.#pages.has(page) || this.#asked.has(page)) continue;
      this.#asked.add(page);
      void this.#fetch(page * PAGE, PAGE).then((lines) => {
        this.#asked.delete(page);
        if (lines) this.#keep(page, lines);
      });
    }
  }

  /** The last page of a text that still grows has to be asked for again. */
  forget(index: number): void {
    const next = new Map(this.#pages);
    next.delete(Math.floor(index / PAGE));
    this.#pages = next;
  }

  #keep(page: number, lines: readonly TextLine[]): void {
    const next = new Map(this.#pages);
    next.delete(page);
    next.set(page, lines);
    for (const oldest of next.keys()) {
      if (next.size <= HELD) break;
      next.delete(oldest);
    }
    this.#pages = next;
  }
}
