// Drawing what nobody looks at yet: a slice a frame, and none while somebody types, presses or has just opened the notebook.

import { isCalm } from "./calm";

/** How long one frame may be kept, in milliseconds. */
const SLICE_MS = 6;

/** Calls `grow`, which draws at once, until it answers that nothing is left; answers how to end that. */
export function growInSlices(grow: () => boolean): () => void {
  let frame = requestAnimationFrame(function slice() {
    frame = 0;
    if (isCalm()) {
      const started = performance.now();
      do if (!grow()) return;
      while (performance.now() - started < SLICE_MS);
    }
    frame = requestAnimationFrame(slice);
  });
  return () => cancelAnimationFrame(frame);
}
