// Mathematics in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and whole environments. The formula stays text until everything
// around it is sanitised; then Temml makes MathML of it, without its `\href` and the like (trust off).

import type { TokenizerAndRendererExtension, Tokens } from "marked";

import { escapeHtml } from "../text/ansi";

interface MathToken extends Tokens.Generic {
  readonly tex: string;
}

interface Rule {
  readonly name: string;
  readonly level: "block" | "inline";
  readonly start: RegExp;
  readonly rule: RegExp;
  readonly display: boolean;
  readonly tex: (match: RegExpExecArray) => string;
}

const captured = (match: RegExpExecArray): string => match[1] ?? match[2] ?? "";

const RULES: readonly Rule[] = [
  {
    name: "mathBlock",
    level: "block",
    start: /\n(?= {0,3}(?:\$\$|\\\[))/g,
    rule: /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]) *(?:\n|$)/,
    display: true,
    tex: captured,
  },
  {
    name: "mathEnvironment",
    level: "block",
    start: /\n(?= {0,3}\\begin\{)/g,
    rule: /^ {0,3}\\begin\{([a-zA-Z]+\*?)\}[\s\S]+?\\end\{\1\} *(?:\n|$)/,
    display: true,
    tex: (match) => match[0],
  },
  {
    name: "mathDisplay",
    level: "inline",
    start: /\$\$|\\\[/,
    rule: /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])/,
    display: true,
    tex: captured,
  },
  {
    name: "mathInline",
    level: "inline",
    start: /\$|\\\(/,
    // `$5 and $6` is money: no blank after the first dollar, none before the last, no digit behind it.
    rule: /^(?:\$(?![\s$])((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|\\\(([\s\S]+?)\\\))/,
    display: false,
    tex: captured,
  },
];

const placeholder = (tex: string, display: boolean): string => {
  const tag = display ? "div" : "span";
  return `<${tag} data-math="${display ? "display" : "inline"}">${escapeHtml(tex)}</${tag}>`;
};

/** Where a block formula ends the paragraph before it: at the start of a line, and only if it is one. */
function blockStart(text: string, { start, rule }: Rule): number | undefined {
  for (const { index } of text.matchAll(start)) if (rule.test(text.slice(index + 1))) return index + 1;
  return undefined;
}

function inlineStart(text: string, { start }: Rule): number | undefined {
  const at = text.search(start);
  return at < 0 ? undefined : at;
}

export const mathExtensions: TokenizerAndRendererExtension[] = RULES.map((rule) => ({
  name: rule.name,
  level: rule.level,
  start: (text: string) => (rule.level === "block" ? blockStart(text, rule) : inlineStart(text, rule)),
  tokenizer: (text: string): MathToken | undefined => {
    const match = rule.rule.exec(text);
    return match ? { type: rule.name, raw: match[0], tex: rule.tex(match).trim() } : undefined;
  },
  renderer: (token) => placeholder((token as MathToken).tex, rule.display),
}));

/** Fills the formulas below `root`; what cannot be read stays as its text, with the reason as a tooltip. */
export async function fillMath(root: ParentNode): Promise<void> {
  const spots = [...root.querySelectorAll<HTMLElement>("[data-math]")];
  if (spots.length === 0) return;
  const { default: temml } = await import("temml");
  for (const spot of spots) {
    const tex = spot.textContent ?? "";
    const displayMode = spot.dataset.math === "display";
    try {
      const options = { displayMode, trust: false, strict: false, throwOnError: true, maxExpand: 1000 };
      spot.innerHTML = temml.renderToString(tex, options);
      if (displayMode) spot.classList.add("eq");
      spot.querySelector("math")?.setAttribute("aria-label", tex);
    } catch (error) {
      spot.textContent = displayMode ? `$$${tex}$$` : `$${tex}$`;
      spot.title = error instanceof Error ? error.message : String(error);
    }
  }
}
