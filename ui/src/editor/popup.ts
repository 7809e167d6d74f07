// Whose the popup of suggestions is. One that a person asked for, with Tab or Ctrl+Space, has its first suggestion chosen, and
// Enter takes it. One that opened by itself has none chosen: Enter is a new line there, until the person moves into it.

import {
  acceptCompletion,
  autocompletion,
  type CompletionSource,
  completionKeymap,
  completionStatus,
  selectedCompletionIndex,
  setSelectedCompletion,
  startCompletion,
} from "@codemirror/autocomplete";
import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { type Command, EditorView, type KeyBinding } from "@codemirror/view";

const setAsked = StateEffect.define<null>();

/** Whether the popup that is open, or about to open, was asked for. */
const asked = StateField.define<boolean>({
  create: () => false,
  update(value, transaction) {
    if (transaction.effects.some((effect) => effect.is(setAsked))) return true;
    return value && completionStatus(transaction.startState) !== null;
  },
});

function chooseFirst(view: EditorView): void {
  if (completionStatus(view.state) !== "active" || selectedCompletionIndex(view.state) !== null) return;
  view.dispatch({ effects: setSelectedCompletion(0) });
}

export const askCompletion: Command = (view) => {
  if (!startCompletion(view)) return false;
  view.dispatch({ effects: setAsked.of(null) });
  return true;
};

/** Takes what is chosen, or the first. Answers whether a popup is open: the key is its own then. */
export const takeCompletion: Command = (view) => {
  if (completionStatus(view.state) !== "active") return false;
  chooseFirst(view);
  acceptCompletion(view);
  return true;
};

export const popupKeys: readonly KeyBinding[] = completionKeymap.map((binding) =>
  binding.run === startCompletion ? { ...binding, run: askCompletion } : binding,
);

export const popup = (sources: readonly CompletionSource[]): Extension => [
  autocompletion({
    override: sources,
    icons: true,
    maxRenderedOptions: 60,
    selectOnOpen: false,
    defaultKeymap: false,
  }),
  asked,
  EditorView.updateListener.of(({ view }) => {
    if (view.state.field(asked)) chooseFirst(view);
  }),
];
