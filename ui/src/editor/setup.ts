// The editor of one cell. It is made when a person first goes into the cell, and stays: it holds the cell's own undo history.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, toggleComment } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, type Language, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, selectNextOccurrence } from "@codemirror/search";
import {
  Annotation,
  type ChangeSet,
  Compartment,
  EditorState,
  type Extension,
  Prec,
  Transaction,
} from "@codemirror/state";
import {
  type Command,
  crosshairCursor,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
  rectangularSelection,
} from "@codemirror/view";

import { hideInspection, inspection, type Kernel, showInspection, sources } from "./completion";
import { highlighter } from "./highlight";
import { language, languageNow } from "./languages";
import { magicLines } from "./magic";
import { matches } from "./matches";
import { askCompletion, popup, popupKeys, takeCompletion } from "./popup";
import { theme } from "./theme";

export interface EditorOptions {
  readonly text: string;
  /** "markdown", or the kernel's language. */
  readonly language: string;
  readonly label: string;
  readonly hint: string;
  readonly lineNumbers: boolean;
  readonly readOnly: boolean;
  readonly kernel: Kernel;
  readonly onEdit: (changes: ChangeSet) => void;
  readonly onCaret: (line: number, column: number) => void;
  readonly onFocus: () => void;
  /** Esc, when it closed nothing. */
  readonly onLeave: () => void;
  readonly onSplit: (position: number) => void;
}

/** Marks a change that came from the owner. */
export const remote = Annotation.define<boolean>();

const numbers = new Compartment();
const syntax = new Compartment();

const numbersOf = (on: boolean): Extension => (on ? [lineNumbers(), highlightActiveLineGutter()] : []);

function syntaxOf(found: Language | null): Extension {
  if (!found) return [];
  return found.name === "python" ? [python(), magicLines] : found;
}

/** Tab after a word completes it, elsewhere it indents. */
const completeOrIndent: Command = (view) => {
  if (takeCompletion(view)) return true;
  const { head, empty } = view.state.selection.main;
  const before = view.state.sliceDoc(Math.max(0, head - 1), head);
  if (empty && /[\w.]/.test(before)) return askCompletion(view);
  return indentMore(view);
};

function keys(options: EditorOptions): Extension {
  const leave: Command = () => {
    options.onLeave();
    return true;
  };
  const split: Command = (view) => {
    options.onSplit(view.state.selection.main.head);
    return true;
  };
  const inspect = showInspection(options.kernel);
  return [
    Prec.high(
      keymap.of([
        { key: "Tab", run: completeOrIndent, shift: (view) => inspect(view) || indentLess(view) },
        { key: "Ctrl-Shift--", run: split },
        { key: "Ctrl-Shift-_", run: split },
        { key: "Mod-/", run: toggleComment },
        { key: "Mod-d", run: selectNextOccurrence, preventDefault: true },
        { key: "Escape", run: hideInspection },
      ]),
    ),
    keymap.of([...closeBracketsKeymap, ...popupKeys, ...historyKeymap, ...defaultKeymap]),
    Prec.lowest(keymap.of([{ key: "Escape", run: leave }])),
  ];
}

export function createEditor(parent: HTMLElement, options: EditorOptions): EditorView {
  const state = EditorState.create({
    doc: options.text,
    extensions: [
      // A carriage return in a cell's source is a character like any other: positions must mean the same at both ends.
      EditorState.lineSeparator.of("\n"),
      EditorState.allowMultipleSelections.of(true),
      EditorState.readOnly.of(options.readOnly),
      EditorView.contentAttributes.of({ "aria-label": options.label }),
      EditorView.clipboardInputFilter.of((text) => text.replace(/\r\n?/g, "\n")),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      numbers.of(numbersOf(options.lineNumbers)),
      syntax.of(syntaxOf(languageNow(options.language))),
      syntaxHighlighting(highlighter),
      history(),
      drawSelection(),
      rectangularSelection(),
      crosshairCursor(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches({ minSelectionLength: 2 }),
      popup(sources(options.kernel, options.language)),
      inspection,
      matches,
      placeholder(options.hint),
      keys(options),
      theme,
      EditorView.updateListener.of((update) => {
        if (update.docChanged) {
          for (const transaction of update.transactions) {
            if (transaction.docChanged && !transaction.annotation(remote)) options.onEdit(transaction.changes);
          }
        }
        if (update.focusChanged && update.view.hasFocus) options.onFocus();
        if (update.selectionSet || update.docChanged || update.focusChanged) {
          const head = update.state.selection.main.head;
          const line = update.state.doc.lineAt(head);
          options.onCaret(line.number, head - line.from + 1);
        }
      }),
    ],
  });
  const view = new EditorView({ state, parent });
  if (!languageNow(options.language)) {
    void language(options.language).then((found) => {
      if (found) view.dispatch({ effects: syntax.reconfigure(syntaxOf(found)) });
    });
  }
  return view;
}

export const setLineNumbers = (view: EditorView, on: boolean): void =>
  view.dispatch({ effects: numbers.reconfigure(numbersOf(on)) });

export async function setLanguage(view: EditorView, name: string): Promise<void> {
  view.dispatch({ effects: syntax.reconfigure(syntaxOf(await language(name))) });
}

/** Scrolls to a place in the text, if it is still there. */
export const showPlace = (view: EditorView, position: number): void =>
  view.dispatch({ effects: EditorView.scrollIntoView(Math.min(position, view.state.doc.length), { y: "nearest" }) });

export function applyRemote(view: EditorView, changes: ChangeSet): void {
  // Undo takes back what this person typed, never what somebody else did.
  view.dispatch({ changes, annotations: [remote.of(true), Transaction.addToHistory.of(false)] });
}
