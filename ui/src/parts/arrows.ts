// Arrow keys inside one group of tabs, radios, options or tree rows: the group is one Tab stop.

const STEPS: Record<string, number | "first" | "last"> = {
  ArrowRight: 1,
  ArrowDown: 1,
  ArrowLeft: -1,
  ArrowUp: -1,
  Home: "first",
  End: "last",
};

/** Moves focus among the `selector`s of the group; with `choose`, what gets focus is also clicked. */
export function moveWithArrows(event: KeyboardEvent, selector: string, choose = false): void {
  const step = STEPS[event.key];
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  const group = event.currentTarget;
  if (!(group instanceof HTMLElement)) return;
  const items = [...group.querySelectorAll<HTMLElement>(selector)].filter((item) => !item.hasAttribute("disabled"));
  if (items.length === 0) return;
  const at = items.findIndex((item) => item === document.activeElement);
  const to = step === "first" ? 0 : step === "last" ? items.length - 1 : (at + step + items.length) % items.length;
  const target = items[to];
  event.preventDefault();
  target?.focus();
  if (choose) target?.click();
}
