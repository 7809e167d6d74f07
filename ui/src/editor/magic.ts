// `%magic` and `!shell` lines keep their own colour inside a Python editor.

import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

import { isMagic } from "./highlight";

const mark = Decoration.mark({ class: "t-mg", inclusive: true });

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to;) {
      const line = view.state.doc.lineAt(at);
      if (line.length > 0 && isMagic(line.text)) builder.add(line.from, line.to, mark);
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const magicLines = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);
