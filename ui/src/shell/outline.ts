// Headings and code cells in the order of the notebook. Pure.

import { headings } from "../markdown/render";
import { GLYPHS } from "../notebook/glyphs";
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

const TONES: Partial<Record<CellLook, "err" | "warn">> = { error: "err", input: "warn" };

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
      const icon = cell.look === "done" ? "st-ready" : (GLYPHS[cell.look] ?? null);
      const tone = TONES[cell.look] ?? "";
      rows.push({ key: cell.key, cell: cell.key, kind: "code", depth, text, icon, tone });
    }
  }
  return rows;
}
