// Find's matches inside an editor, in the same colours as in still text.

import { type ChangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export interface Range {
  readonly from: number;
  readonly to: number;
  readonly current: boolean;
}

const setMatches = StateEffect.define<readonly Range[]>({
  map: (ranges, changes: ChangeSet | { mapPos(pos: number): number }) =>
    ranges.map((r) => ({ ...r, from: changes.mapPos(r.from), to: changes.mapPos(r.to) })),
});

const mark = (current: boolean): Decoration => Decoration.mark({ tagName: "mark", class: current ? "on" : "" });

export const matches = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    let next = set.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setMatches)) continue;
      const length = transaction.newDoc.length;
      const fitting = effect.value.filter((r) => r.from < r.to && r.to <= length);
      next = Decoration.set(fitting.map((r) => mark(r.current).range(r.from, r.to)));
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export const showMatches = (view: EditorView, ranges: readonly Range[]): void =>
  view.dispatch({ effects: setMatches.of(ranges) });
