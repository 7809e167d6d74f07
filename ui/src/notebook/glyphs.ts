// The glyph of each state, in the gutter and in the outline.

import type { IconName } from "../parts/icons";
import type { CellLook } from "../state/cell.svelte";

export const GLYPHS: Partial<Record<CellLook, IconName>> = {
  queued: "st-queue",
  held: "st-held",
  running: "st-busy",
  input: "st-input",
  error: "st-error",
  edited: "st-edited",
  stopped: "st-stopped",
  nosignal: "st-reconnect",
};
