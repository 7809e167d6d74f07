// Lines of a text output to HTML, each once: a line that stays keeps its HTML, and a block of lines that did not change is not
// touched in the page.

import type { TextLine } from "../platform";
import { renderLine } from "../text/ansi";
import { count } from "../text/units";

const rendered = new WeakMap<TextLine, string>();

/** Lines in one block. Streams append, so only the last block of a text is drawn again. */
export const BLOCK = 40;

export function lineHtml(line: TextLine): string {
  const known = rendered.get(line);
  if (known !== undefined) return known;
  const more = line.hidden > 0 ? `<span class="cut"> … ${count(line.hidden)} more characters</span>` : "";
  const html = renderLine(line.text).html + more;
  rendered.set(line, html);
  return html;
}

export function blocks(lines: readonly TextLine[]): string[] {
  const out: string[] = [];
  for (let at = 0; at < lines.length; at += BLOCK) {
    out.push(
      lines
        .slice(at, at + BLOCK)
        .map(lineHtml)
        .join("\n") || " ",
    );
  }
  return out;
}
