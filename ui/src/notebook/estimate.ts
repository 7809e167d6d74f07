// How high a cell will be, before it is drawn. It only has to be close: the scrollbar covers the whole notebook from the start
// by it, and the browser replaces it by the true height once the cell was seen.

import type { Cell } from "../state/cell.svelte";
import type { Output } from "../state/outputs.svelte";
import { planFold } from "../text/fold";

const LINE = 20;
const PROSE = 23;
/** Padding above and below a source, and the cell's own. */
const SOURCE_PADDING = 22;
const OUTPUT_PADDING = 18;
const FOLD_ROW = 38;

const lines = (text: string): number => {
  let n = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n += 1;
  return n;
};

function outputHeight(output: Output): number {
  const body = output.body;
  if (body.type === "text") {
    const plan = planFold(body.text.total_lines, 0);
    return (plan.head + plan.tail) * LINE + (plan.hidden > 0 ? FOLD_ROW : 0);
  }
  if (body.type === "error") return Math.min(body.traceback.length * 4, 40) * LINE + 60;
  if (body.type === "unknown") return LINE;
  const form = body.representations[0];
  if (!form) return LINE;
  if (form.media_type.startsWith("image/")) return form.height ?? 280;
  if (form.text !== null && !form.framed) return Math.min(lines(form.text), 60) * LINE;
  return form.height ?? 180;
}

export function estimateHeight(cell: Cell): number {
  if (cell.kind === "markdown") return lines(cell.text) * PROSE + 16;
  const source = cell.sourceHidden ? LINE : lines(cell.text) * LINE;
  const outputs = cell.outputs.length === 0 ? 0 : OUTPUT_PADDING;
  const shown = cell.outputsHidden ? LINE : cell.outputs.reduce((sum, output) => sum + outputHeight(output), 0);
  return source + SOURCE_PADDING + outputs + shown;
}
