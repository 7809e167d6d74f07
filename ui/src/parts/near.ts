// Things that are costly to draw wait until they come near the view. The browser's own lazy loading does not look into nested
// scrollers in every engine. One observer serves a whole scroller: a cell may have thousands of pictures.

const MARGIN = "600px 0px";

class Nearness {
  readonly #waiting = new Map<Element, () => void>();
  readonly #observer: IntersectionObserver;

  constructor(root: Element | null) {
    this.#observer = new IntersectionObserver((entries) => this.#seen(entries), { root, rootMargin: MARGIN });
  }

  wait(node: Element, arrived: () => void): () => void {
    this.#waiting.set(node, arrived);
    this.#observer.observe(node);
    return () => this.#forget(node);
  }

  #seen(entries: readonly IntersectionObserverEntry[]): void {
    for (const { isIntersecting, target } of entries) {
      const arrived = this.#waiting.get(target);
      if (!isIntersecting || !arrived) continue;
      this.#forget(target);
      arrived();
    }
  }

  #forget(node: Element): void {
    this.#waiting.delete(node);
    this.#observer.unobserve(node);
  }
}

const byScroller = new WeakMap<Element, Nearness>();

function nearnessIn(scroller: Element | null): Nearness {
  const key = scroller ?? document.body;
  const known = byScroller.get(key);
  if (known) return known;
  const made = new Nearness(scroller);
  byScroller.set(key, made);
  return made;
}

/** Calls `arrived` once, when the node is less than a screen away from being seen. */
export function near(arrived: () => void) {
  return (node: HTMLElement): (() => void) => nearnessIn(node.closest(".nb")).wait(node, arrived);
}
