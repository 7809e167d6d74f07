// Cells are dragged by their gutter. A line shows where they would go; they move when they are let go.

import * as act from "../state/actions";
import type { Notebook } from "../state/notebook.svelte";
import type { Workbench } from "../state/workbench.svelte";

interface Drop {
  readonly index: number;
  readonly top: number;
}

const KIND = "application/x-sandbook-cells";

function dropAt(holder: HTMLElement, notebook: Notebook, event: DragEvent): Drop | null {
  const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".cell") : null;
  const cell = row ? notebook.cell(row.dataset.key ?? "") : undefined;
  if (!row || !cell) return null;
  const box = row.getBoundingClientRect();
  const after = event.clientY > box.top + box.height / 2;
  const base = holder.getBoundingClientRect().top;
  return { index: notebook.indexOf(cell) + (after ? 1 : 0), top: (after ? box.bottom : box.top) - base };
}

export function dragCells(holder: HTMLElement, desk: Workbench, notebook: Notebook): () => void {
  const line = document.createElement("div");
  line.className = "insert insert--free";
  line.hidden = true;
  let keys: readonly string[] = [];

  const start = (event: DragEvent): void => {
    const row = event.target instanceof Element ? event.target.closest<HTMLElement>(".cell") : null;
    const cell = row ? notebook.cell(row.dataset.key ?? "") : undefined;
    if (!cell || !event.dataTransfer || !(event.target instanceof Element && event.target.closest("[data-grip]")))
      return;
    if (!cell.selected) notebook.select(cell);
    keys = act.targets(notebook).map((target) => target.key);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData(KIND, keys.join(","));
    holder.append(line);
  };
  const over = (event: DragEvent): void => {
    if (keys.length === 0) return;
    event.preventDefault();
    const drop = dropAt(holder, notebook, event);
    line.hidden = drop === null;
    if (drop) line.style.top = `${drop.top}px`;
  };
  const end = (): void => {
    keys = [];
    line.remove();
  };
  const drop = (event: DragEvent): void => {
    const place = dropAt(holder, notebook, event);
    const moved = keys;
    end();
    if (!place || moved.length === 0) return;
    event.preventDefault();
    const before = notebook.cells.slice(0, place.index).filter((cell) => moved.includes(cell.key)).length;
    void desk.ask({ type: "move_cells", document: notebook.id, cells: [...moved], index: place.index - before });
  };

  holder.addEventListener("dragstart", start);
  holder.addEventListener("dragover", over);
  holder.addEventListener("drop", drop);
  holder.addEventListener("dragend", end);
  return () => {
    holder.removeEventListener("dragstart", start);
    holder.removeEventListener("dragover", over);
    holder.removeEventListener("drop", drop);
    holder.removeEventListener("dragend", end);
    line.remove();
  };
}
