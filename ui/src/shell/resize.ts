// Edges that can be dragged, or moved with the arrow keys.

const STEP = 16;

export function dragSize(axis: "x" | "y", sign: 1 | -1, get: () => number, set: (size: number) => void) {
  return (node: HTMLElement): (() => void) => {
    const place = (event: PointerEvent): number => (axis === "x" ? event.clientX : event.clientY);
    const down = (event: PointerEvent): void => {
      event.preventDefault();
      const from = place(event);
      const size = get();
      node.setPointerCapture(event.pointerId);
      const move = (moved: PointerEvent): void => set(size + sign * (place(moved) - from));
      // However it ends: let go, cancelled by the system, or taken by something else.
      const end = (): void => node.removeEventListener("pointermove", move);
      node.addEventListener("pointermove", move);
      node.addEventListener("lostpointercapture", end, { once: true });
    };
    const key = (event: KeyboardEvent): void => {
      const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
      if (event.key !== less && event.key !== more) return;
      event.preventDefault();
      set(get() + sign * (event.key === more ? STEP : -STEP));
    };
    node.addEventListener("pointerdown", down);
    node.addEventListener("keydown", key);
    return () => {
      node.removeEventListener("pointerdown", down);
      node.removeEventListener("keydown", key);
    };
  };
}
