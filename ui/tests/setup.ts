// jsdom has no layout and no observers; the page only needs them to exist.
class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver ??= Observer as unknown as typeof ResizeObserver;
globalThis.IntersectionObserver ??= Observer as unknown as typeof IntersectionObserver;
Range.prototype.getClientRects ??= () => [] as unknown as DOMRectList;
Range.prototype.getBoundingClientRect ??= () => new DOMRect();
Element.prototype.scrollIntoView ??= () => undefined;
globalThis.matchMedia ??= (query: string) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;
document.elementsFromPoint ??= () => [];
document.elementFromPoint ??= () => null;
HTMLCanvasElement.prototype.getContext = () => null;
class Ranges extends Set<AbstractRange> {
  priority = 0;
}
globalThis.Highlight ??= Ranges as unknown as typeof Highlight;
globalThis.CSS ??= {} as typeof CSS;
Object.assign(CSS, { highlights: new Map<string, Highlight>() });
