// What the kernel knows, in the editor. It is asked only while it is idle and within a budget: a busy kernel would answer when
// its cell ends, and the words of the cell are at hand at once.

import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  type CompletionSource,
  completeAnyWord,
  startCompletion,
} from "@codemirror/autocomplete";
import { globalCompletion, localCompletionSource } from "@codemirror/lang-python";
import { StateEffect, StateField, type Text } from "@codemirror/state";
import { type Command, type EditorView, type Tooltip, showTooltip } from "@codemirror/view";

import type { Completion as KernelCompletion, Inspection } from "../platform";
import { renderLines } from "../text/ansi";
import { excerptAt } from "./excerpt";

/** What an editor may ask of the kernel; null while it cannot answer. */
export interface Kernel {
  complete(code: string, position: number): Promise<KernelCompletion> | null;
  inspect(code: string, position: number): Promise<Inspection> | null;
}

export const BUDGET_MS = 300;

const within = <T>(promise: Promise<T>, milliseconds: number): Promise<T | null> =>
  Promise.race([
    promise.catch(() => null),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), milliseconds)),
  ]);

const KINDS: Record<string, string> = {
  function: "function",
  method: "method",
  class: "class",
  instance: "variable",
  module: "namespace",
  keyword: "keyword",
  statement: "variable",
  property: "property",
  path: "text",
  magic: "keyword",
};

function option([label, kind]: readonly [string, string | null]): Completion {
  const type = kind === null ? undefined : KINDS[kind];
  return { label, boost: 1, ...(type ? { type } : {}) };
}

interface Late {
  readonly doc: Text;
  readonly pos: number;
  readonly answer: CompletionResult;
}

/** Whether a word can only become what it is: there is nothing to suggest then. */
const isWhole = (word: string, options: readonly Completion[]): boolean => {
  const longer = options.filter(({ label }) => label.startsWith(word));
  return longer.length > 0 && longer.every(({ label }) => label === word);
};

/** `from`: where what the kernel was given begins in the source `doc`. */
function resultOf(answer: KernelCompletion, from: number, doc: Text): CompletionResult | null {
  const options = answer.matches.map(option);
  const start = from + answer.from;
  const end = from + answer.to;
  if (options.length === 0 || isWhole(doc.sliceString(start, end), options)) return null;
  return {
    from: start,
    to: end,
    options,
    validFor: (text) => /^[\w.]*$/.test(text) && !isWhole(text, options),
  };
}

/** What is known without a kernel: only what begins as the word does, for a guess that Tab takes must not be another word. */
export const beginning =
  (source: CompletionSource): CompletionSource =>
  async (context) => {
    const found = await source(context);
    if (!found) return null;
    const word = context.state.sliceDoc(found.from, context.pos);
    const options = found.options.filter(({ label }) => label.startsWith(word));
    if (options.length === 0 || (!context.explicit && isWhole(word, options))) return null;
    const validFor = (text: string): boolean =>
      text.startsWith(word) && /^[\w\xa1-\uffff]*$/.test(text) && !isWhole(text, options);
    return { ...found, options, validFor };
  };

/** Asks the kernel. What comes after the budget is shown as well, if the person has not gone on meanwhile. */
export function kernelSource(kernel: Kernel): CompletionSource {
  let late: Late | null = null;
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const {
      pos,
      state: { doc },
    } = context;
    if (late?.doc.eq(doc) && late.pos === pos) return late.answer;
    late = null;
    const word = context.matchBefore(/[\w.%]+/);
    if (!context.explicit && !(word && /[.\w]$/.test(word.text))) return null;
    const { code, from } = excerptAt(doc, pos);
    const asked = kernel.complete(code, pos - from)?.then((answer) => resultOf(answer, from, doc));
    if (!asked) return null;
    const answer = await within(asked, context.explicit ? 2000 : BUDGET_MS);
    if (answer) return context.aborted ? null : answer;
    void asked.then(
      (slow) => {
        const { view } = context;
        if (!slow || !view || view.state.selection.main.head !== pos || !view.state.doc.eq(doc)) return;
        late = { doc, pos, answer: slow };
        startCompletion(view);
      },
      () => undefined,
    );
    return null;
  };
}

export const sources = (kernel: Kernel, language: string): CompletionSource[] =>
  /python/i.test(language)
    ? [kernelSource(kernel), beginning(localCompletionSource), beginning(globalCompletion)]
    : [kernelSource(kernel), beginning(completeAnyWord)];

// -------------------------------------------------------------------- Shift+Tab

const setInspection = StateEffect.define<Tooltip | null>();

export const inspection = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) if (effect.is(setInspection)) return effect.value;
    return tooltip && (transaction.docChanged || transaction.selection) ? null : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

function tooltipOf(pos: number, html: string): Tooltip {
  return {
    pos,
    above: false,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "cm-inspect";
      dom.setAttribute("role", "status");
      dom.innerHTML = html;
      return { dom };
    },
  };
}

export const showInspection =
  (kernel: Kernel): Command =>
  (view: EditorView): boolean => {
    const pos = view.state.selection.main.head;
    const before = view.state.sliceDoc(Math.max(0, pos - 1), pos);
    if (before.trim() === "") return false;
    const { code, from } = excerptAt(view.state.doc, pos);
    const asked = kernel.inspect(code, pos - from);
    if (!asked) return false;
    void within(asked, 3000).then((answer) => {
      if (!answer?.found || view.state.selection.main.head !== pos) return;
      view.dispatch({ effects: setInspection.of(tooltipOf(pos, renderLines(answer.text.split("\n")))) });
    });
    return true;
  };

export const hideInspection: Command = (view) => {
  if (!view.state.field(inspection, false)) return false;
  view.dispatch({ effects: setInspection.of(null) });
  return true;
};
