// How high a cell will be, before it is drawn. It only has to be close: the scrollbar covers the whole notebook from the start
// by it, and the browser replaces it by the true height once the cell was seen.

import type { Cell } from "../state/cell.svelte";
import { estimateOutput, lines } from "../outputs/estimate";

const LINE = 20;
const PROSE = 23;
/** Padding above and below a source, and the cell's own. */
const SOURCE_PADDING = 22;
const OUTPUT_PADDING = 18;

export function estimateHeight(cell: Cell): number {
  if (cell.kind === "markdown") return lines(cell.text) * PROSE + 16;
  const source = cell.sourceHidden ? LINE : lines(cell.text) * LINE;
  const outputs = cell.outputs.length === 0 ? 0 : OUTPUT_PADDING;
  const shown = cell.outputsHidden ? LINE : cell.outputs.reduce((sum, output) => sum + estimateOutput(output), 0);
  return source + SOURCE_PADDING + outputs + shown;
}
