// How high an output will be, before it is drawn.

import type { Output } from "../state/outputs.svelte";
import { planFold } from "../text/fold";

const LINE = 20;
const FOLD_ROW = 38;

export const lines = (text: string): number => {
  let n = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n += 1;
  return n;
};

/** In CSS pixels. */
export function estimateOutput(output: Output): number {
  const body = output.body;
  if (body.type === "text") {
    const plan = planFold(body.text.total_lines, 0);
    return (plan.head + plan.tail) * LINE + (plan.hidden > 0 ? FOLD_ROW : 0);
  }
  if (body.type === "error") return Math.min(body.traceback.length * 4, 40) * LINE + 60;
  if (body.type === "unknown") return LINE;
  const form = body.representations[0];
  if (!form) return LINE;
  if (form.media_type.startsWith("image/")) return form.height ?? form.pixels?.[1] ?? 280;
  if (form.text !== null && !form.framed) return Math.min(lines(form.text), 60) * LINE;
  return form.height ?? 180;
}
