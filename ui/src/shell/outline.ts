// Headings and code cells in the order of the notebook. Pure.

import { headings } from "../markdown/render";
import type { IconName } from "../parts/icons";
import type { Cell, CellLook } from "../state/cell.svelte";

export interface OutlineRow {
  readonly key: string;
  readonly cell: string;
  readonly kind: "heading" | "code";
  readonly depth: number;
  readonly text: string;
  readonly icon: IconName | null;
  readonly tone: "" | "err" | "warn";
}

const ICONS: Partial<Record<CellLook, readonly [IconName, "" | "err" | "warn"]>> = {
  done: ["st-ready", ""],
  error: ["st-error", "err"],
  queued: ["st-queue", ""],
  running: ["st-busy", ""],
  input: ["st-input", "warn"],
  nosignal: ["st-reconnect", "warn"],
  edited: ["st-edited", ""],
  stopped: ["st-stopped", ""],
};

/** The first line that says something. */
export function firstLine(source: string): string {
  let comment = "";
  for (let at = 0, end = 0; at <= source.length; at = end + 1) {
    end = source.indexOf("\n", at);
    if (end < 0) end = source.length;
    const line = source.slice(at, end).trim();
    if (line !== "" && !line.startsWith("#")) return line;
    comment ||= line;
  }
  return comment;
}

export function outlineOf(cells: readonly Cell[], headingsOnly: boolean): OutlineRow[] {
  const rows: OutlineRow[] = [];
  let depth = 0;
  for (const cell of cells) {
    if (cell.kind === "markdown") {
      headings(cell.text).forEach((heading, i) => {
        depth = Math.min(heading.level, 5);
        const place = { key: `${cell.key}:${i}`, cell: cell.key, depth: depth - 1 };
        rows.push({ ...place, kind: "heading", text: heading.text, icon: null, tone: "" });
      });
    } else if (cell.kind === "code" && !headingsOnly) {
      const text = firstLine(cell.text);
      if (text === "") continue;
      const [icon, tone] = ICONS[cell.look] ?? [null, ""];
      rows.push({ key: cell.key, cell: cell.key, kind: "code", depth, text, icon, tone });
    }
  }
  return rows;
}
