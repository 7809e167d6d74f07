// Drawing what is far away gives way to whoever types or presses, and to the first look at a notebook that was just opened.

/** Between two keys of somebody who types, in milliseconds. */
const TYPING_MS = 150;
/** What somebody needs who goes into a cell as soon as it is there. */
const OPENED_MS = 250;

let until = 0;

const wait = (ms: number): void => {
  until = Math.max(until, performance.now() + ms);
};

for (const type of ["keydown", "pointerdown"]) {
  addEventListener(type, () => wait(TYPING_MS), { capture: true, passive: true });
}
// Who scrolls wants what is far away.
addEventListener("wheel", () => (until = 0), { capture: true, passive: true });

/** A notebook was opened. */
export const opened = (): void => wait(OPENED_MS);

/** Whether there is time for what nobody asked for yet. */
export const isCalm = (): boolean => performance.now() >= until;
