// Where a hit in an output is, in words: what is drawn otherwise than as text, or cut, cannot be marked.

import { drawable, drawingOf, nameOf } from "../outputs/choose";
import type { Hit } from "../state/find.svelte";
import type { Notebook } from "../state/notebook.svelte";
import { count } from "../text/units";

export function placeOf(notebook: Notebook, hit: Hit, unmarked: Hit | null): string {
  const match = hit.output;
  if (!match) return "";
  const line = `Line ${count(match.line + 1)}`;
  if (hit !== unmarked) return line;
  const body = notebook.cell(hit.cell)?.outputs.find((output) => output.id === match.output)?.body;
  if (body?.type === "text")
    return `${line}, character ${count(match.column + 1)}, in the part of the line that is cut`;
  if (body?.type !== "rich") return `${line} of the traceback, in frames that are folded`;
  const shown = drawable(body.representations)[0];
  const text = `${line} of the output's plain text`;
  if (!shown) return text;
  return drawingOf(shown) === "frame" || drawingOf(shown) === "image"
    ? `${text}, which is shown as ${nameOf(shown.media_type)} and cannot be marked there`
    : `${text}, which is shown as ${nameOf(shown.media_type)}`;
}
