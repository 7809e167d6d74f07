// Pages of a long text, fetched as they come into view and dropped again: a million lines are looked at through a window. What
// is held is bounded by its length, for a line may be one character or thousands.

import type { TextLine } from "../platform";
import { MOST } from "./choose";

/** Lines of a page. Few, so that the pages in view are no more than the page may hold, however long their lines are. */
export const PAGE = 50;

const lengthOf = (lines: readonly TextLine[]): number => lines.reduce((sum, { text }) => sum + text.length, 0);

export type Fetch = (from: number, count: number) => Promise<readonly TextLine[] | null>;

export class Pages {
  #pages = $state.raw(new Map<number, readonly TextLine[]>());
  readonly #asked = new Set<number>();
  readonly #fetch: Fetch;
  /** The first and the last page that were asked for last: they stay. */
  #wanted: readonly [number, number] = [0, 0];

  constructor(fetch: Fetch) {
    this.#fetch = fetch;
  }

  line(index: number): TextLine | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** How many characters are held. */
  get held(): number {
    return [...this.#pages.values()].reduce((sum, lines) => sum + lengthOf(lines), 0);
  }

  /** Sees to it that these lines, of so many in all, arrive. */
  want(from: number, to: number, total: number): void {
    this.#wanted = [Math.floor(from / PAGE), Math.floor(to / PAGE)];
    for (let page = this.#wanted[0]; page <= this.#wanted[1]; page++) {
      if (this.#pages.has(page) || this.#asked.has(page)) continue;
      this.#asked.add(page);
      void this.#fetchAll(page * PAGE, Math.min(PAGE, total - page * PAGE)).then((lines) => {
        this.#asked.delete(page);
        if (lines) this.#keep(page, lines);
      });
    }
  }

  /** A whole page. An answer may hold fewer lines than were asked for, where they are long; `least` have to be there. */
  async #fetchAll(from: number, least: number): Promise<readonly TextLine[] | null> {
    const lines: TextLine[] = [];
    do {
      const next = await this.#fetch(from + lines.length, PAGE - lines.length);
      if (!next || next.length === 0) return null;
      lines.push(...next);
    } while (lines.length < least);
    return lines;
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
    const [first, last] = this.#wanted;
    let held = [...next.values()].reduce((sum, kept) => sum + lengthOf(kept), 0);
    for (const [oldest, kept] of next) {
      if (held <= MOST) break;
      if (oldest >= first && oldest <= last) continue;
      next.delete(oldest);
      held -= lengthOf(kept);
    }
    this.#pages = next;
  }
}
