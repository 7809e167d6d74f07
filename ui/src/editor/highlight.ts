// One highlighter for the editor and for the still text that stands in for it until it is needed: both give the same classes,
// so that mounting an editor changes nothing that can be seen.

import { pythonLanguage } from "@codemirror/lang-python";
import type { Language } from "@codemirror/language";
import { highlightCode, tagHighlighter, tags as t } from "@lezer/highlight";

import { escapeHtml } from "../text/ansi";

export const highlighter = tagHighlighter([
  { tag: [t.keyword, t.operatorKeyword, t.controlKeyword, t.definitionKeyword, t.moduleKeyword], class: "t-kw" },
  { tag: [t.string, t.special(t.string), t.docString, t.character, t.regexp], class: "t-st" },
  { tag: [t.number, t.integer, t.float], class: "t-nu" },
  { tag: [t.comment, t.lineComment, t.blockComment], class: "t-cm" },
  {
    tag: [t.function(t.variableName), t.function(t.propertyName), t.function(t.definition(t.variableName))],
    class: "t-fn",
  },
  { tag: [t.className, t.typeName, t.definition(t.className)], class: "t-fn" },
  { tag: [t.standard(t.variableName), t.standard(t.name)], class: "t-bi" },
  { tag: [t.operator, t.arithmeticOperator, t.compareOperator, t.logicOperator, t.definitionOperator], class: "t-op" },
  { tag: [t.meta, t.annotation, t.processingInstruction], class: "t-de" },
  { tag: [t.bool, t.null, t.atom, t.self], class: "t-co" },
  { tag: [t.heading], class: "t-hd" },
  { tag: [t.strong], class: "t-sg" },
  { tag: [t.emphasis], class: "t-em" },
  { tag: [t.link, t.url], class: "t-fn" },
]);

/** Lines that IPython takes for itself: `%magic`, `!shell`. */
export const isMagic = (line: string): boolean => /^\s*(?:%{1,2}[A-Za-z]|!)/.test(line);

/** Magic lines would only confuse the Python parser: it sees blanks of the same length. */
export function maskMagic(source: string): string {
  if (!/[%!]/.test(source)) return source;
  return source
    .split("\n")
    .map((line) => (isMagic(line) ? " ".repeat(line.length) : line))
    .join("\n");
}

/** Source to HTML; safe by construction, every character of it is escaped. */
export function highlightStill(source: string, language: Language = pythonLanguage): string {
  const parsed = language === pythonLanguage ? maskMagic(source) : source;
  const tree = language.parser.parse(parsed);
  const html: string[] = [];
  let at = 0;
  const put = (length: number, classes: string): void => {
    const text = escapeHtml(source.slice(at, at + length));
    html.push(classes ? `<span class="${classes}">${text}</span>` : text);
    at += length;
  };
  highlightCode(
    parsed,
    tree,
    highlighter,
    (text, classes) => put(text.length, classes),
    () => put(1, ""),
  );
  return parsed === source ? html.join("") : markMagic(html.join(""));
}

const markMagic = (html: string): string =>
  html
    .split("\n")
    .map((line) => (/^\s*(?:%{1,2}[A-Za-z]|!)/.test(line) ? `<span class="t-mg">${line}</span>` : line))
    .join("\n");
