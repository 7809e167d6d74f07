// Things that are costly to draw wait until they come near the view. The browser's own lazy loading does not look into nested
// scrollers in every engine.

const MARGIN = "600px 0px";

/** Calls `arrived` once, when the node is less than a screen away from being seen. */
export function near(arrived: () => void) {
  return (node: HTMLElement): (() => void) => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        arrived();
      },
      { root: node.closest(".nb"), rootMargin: MARGIN },
    );
    observer.observe(node);
    return () => observer.disconnect();
  };
}
