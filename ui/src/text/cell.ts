// A cell in words, for screen readers.

import type { Cell, CellLook } from "../state/cell.svelte";
import { spokenDuration } from "./units";

const SPOKEN: Record<CellLook, string> = {
  new: "not run yet",
  queued: "queued",
  running: "running",
  input: "waiting for your input",
  done: "done",
  error: "failed",
  edited: "edited since it ran",
  stopped: "stopped",
  nosignal: "state unknown while reconnecting",
  lost: "value lost",
};

const KINDS = { code: "Code cell", markdown: "Text cell", raw: "Raw cell", broken: "Unreadable cell" } as const;

/** "Code cell 9, failed, 0.04 seconds". */
export function spokenCell(cell: Cell): string {
  const kind = KINDS[cell.kind];
  if (cell.kind !== "code") return kind;
  const number = cell.executionCount === null ? "" : ` ${cell.executionCount}`;
  const took = cell.run.duration_ms === null ? "" : `, ${spokenDuration(cell.run.duration_ms)}`;
  return `${kind}${number}, ${SPOKEN[cell.look]}${took}`;
}
