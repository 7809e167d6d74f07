import type { Action } from "svelte/action";

const FOCUSABLE =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), [tabindex]:not([tabindex="-1"])';

const focusables = (root: HTMLElement): HTMLElement[] =>
  [...root.querySelectorAll<HTMLElement>(FOCUSABLE)].filter((e) => e.tabIndex >= 0);

/** Keeps Tab inside, closes on Esc, gives focus back to where it came from. */
export const trapFocus: Action<HTMLElement, { onclose: () => void }> = (node, options) => {
  let { onclose } = options;
  const before = document.activeElement;
  const first = node.querySelector<HTMLElement>("[data-autofocus]") ?? focusables(node)[0] ?? node;
  queueMicrotask(() => first.focus());

  const onkeydown = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      event.stopPropagation();
      onclose();
      return;
    }
    if (event.key !== "Tab") return;
    const all = focusables(node);
    const [head, tail] = [all[0], all.at(-1)];
    if (!head || !tail) return;
    const active = document.activeElement;
    if (event.shiftKey && (active === head || active === node)) {
      event.preventDefault();
      tail.focus();
    } else if (!event.shiftKey && active === tail) {
      event.preventDefault();
      head.focus();
    }
  };
  node.addEventListener("keydown", onkeydown);
  return {
    update: (next) => {
      onclose = next.onclose;
    },
    destroy: () => {
      node.removeEventListener("keydown", onkeydown);
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      // What opened it may be gone itself, such as a menu.
      else queueMicrotask(focusNotebookUnlessElsewhere);
    },
  };
};

/** Puts the focus on the notebook's cell, or into its editor. */
export function focusNotebook(): void {
  const cell = document.querySelector<HTMLElement>('.cell[tabindex="0"]');
  const editor = cell?.classList.contains("is-edit") ? cell.querySelector<HTMLElement>(".cm-content") : null;
  (editor ?? cell)?.focus({ preventScroll: true });
}

function focusNotebookUnlessElsewhere(): void {
  if (document.activeElement === null || document.activeElement === document.body) focusNotebook();
}

/** Keys go on working when something that had the focus goes away: the notebook's cell gets it. */
export function handFocusBack(node: HTMLElement): () => void {
  let inside = node.contains(document.activeElement);
  const seen = (event: FocusEvent): void => {
    inside = event.target instanceof Node && node.contains(event.target);
  };
  document.addEventListener("focusin", seen);
  return () => {
    document.removeEventListener("focusin", seen);
    if (inside) queueMicrotask(focusNotebookUnlessElsewhere);
  };
}
