// A cell in words, for screen readers.

import type { Cell, CellLook } from "../state/cell.svelte";
import { spokenDuration } from "./units";

const SPOKEN: Record<CellLook, string> = {
  new: "not run yet",
  queued: "queued",
  held: "held, not run",
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

/** "Code cell 9, failed, 0.04 seconds": a cell is called by its place in the notebook, here and in every message. */
export function spokenCell(cell: Cell, position: number): string {
  const kind = `${KINDS[cell.kind]} ${position}`;
  if (cell.kind !== "code") return kind;
  const took = cell.run.duration_ms === null ? "" : `, ${spokenDuration(cell.run.duration_ms)}`;
  return `${kind}, ${SPOKEN[cell.look]}${took}`;
}

/** What became of a cell that holds the queue. */
export function heldWord(cell: Cell): string {
  if (cell.run.state === "stopped") return "was stopped";
  return cell.run.state === "timed_out" ? "timed out" : "failed";
}
