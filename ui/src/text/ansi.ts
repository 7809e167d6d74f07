// One line of program output to HTML. The owner has already played carriage returns, backspaces and cursor moves; what is
// left in a line are SGR codes (colour, weight) and OSC 8 links. Anything else that looks like an escape is dropped.
//
// A colour beyond the sixteen tokens becomes three custom properties, one a theme, so that switching the theme repaints
// text without parsing it again.

import { hex, nudge, PAPER, type Rgb } from "./contrast";

type Colour = { readonly token: number } | { readonly rgb: Rgb };

/** What SGR codes have switched on; carried from line to line. */
export interface Pen {
  readonly fg: Colour | null;
  readonly bg: Colour | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
  readonly strike: boolean;
  readonly href: string | null;
}

export const PLAIN: Pen = {
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
  strike: false,
  href: null,
};

const ESCAPES = /[&<>"]/g;
const NAMES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escapeHtml = (text: string): string => text.replace(ESCAPES, (c) => NAMES[c] ?? c);

const LEVELS = [0, 95, 135, 175, 215, 255] as const;

/** The colour numbered `n` of the 256-colour table. */
export function paletteColour(n: number): Colour {
  if (n < 16) return { token: n };
  if (n >= 232) {
    const grey = 8 + (n - 232) * 10;
    return { rgb: [grey, grey, grey] };
  }
  const i = n - 16;
  const level = (k: number): number => LEVELS[k % 6] ?? 0;
  return { rgb: [level(Math.floor(i / 36)), level(Math.floor(i / 6)), level(i)] };
}

const byte = (n: number | undefined): number => Math.min(255, Math.max(0, n ?? 0));

/** Reads `5;n` or `2;r;g;b` after a 38 or 48; answers the colour and how many numbers it took. */
function extended(codes: readonly number[], at: number): [Colour | null, number] {
  if (codes[at] === 5) return [paletteColour(byte(codes[at + 1])), 2];
  if (codes[at] === 2) return [{ rgb: [byte(codes[at + 1]), byte(codes[at + 2]), byte(codes[at + 3])] }, 4];
  return [null, 1];
}

function numbers(parameters: string): number[] {
  const out: number[] = [];
  for (const group of parameters.split(";")) {
    const parts = group.split(":").map(Number);
    // `38:2::r:g:b` carries an empty colour space in third place.
    if (parts.length >= 6 && parts[1] === 2) parts.splice(2, 1);
    // `4:3` is a curly underline; any style of underline is an underline here, `4:0` is none.
    if (parts[0] === 4 && parts.length === 2) out.push(parts[1] === 0 ? 24 : 4);
    else out.push(...parts);
  }
  return out;
}

export function applySgr(pen: Pen, parameters: string): Pen {
  const codes = numbers(parameters);
  let next = pen;
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i] ?? 0;
    if (c === 0) next = { ...PLAIN, href: next.href };
    else if (c === 1) next = { ...next, bold: true };
    else if (c === 2) next = { ...next, dim: true };
    else if (c === 3) next = { ...next, italic: true };
    else if (c === 4) next = { ...next, underline: true };
    else if (c === 7) next = { ...next, inverse: true };
    else if (c === 9) next = { ...next, strike: true };
    else if (c === 22) next = { ...next, bold: false, dim: false };
    else if (c === 23) next = { ...next, italic: false };
    else if (c === 24) next = { ...next, underline: false };
    else if (c === 27) next = { ...next, inverse: false };
    else if (c === 29) next = { ...next, strike: false };
    else if (c >= 30 && c <= 37) next = { ...next, fg: { token: c - 30 } };
    else if (c >= 40 && c <= 47) next = { ...next, bg: { token: c - 40 } };
    else if (c >= 90 && c <= 97) next = { ...next, fg: { token: c - 82 } };
    else if (c >= 100 && c <= 107) next = { ...next, bg: { token: c - 92 } };
    else if (c === 39) next = { ...next, fg: null };
    else if (c === 49) next = { ...next, bg: null };
    else if (c === 38 || c === 48) {
      const [colour, took] = extended(codes, i + 1);
      i += took;
      if (colour) next = c === 38 ? { ...next, fg: colour } : { ...next, bg: colour };
    }
  }
  return next;
}

const nudged = new Map<string, string>();

/** `--c0 --c1 --c2`: the colour for the light, the dark and the high-contrast page. */
function threeThemes(rgb: Rgb, against: Rgb | null): string {
  const key = `${hex(rgb)}${against ? hex(against) : ""}`;
  const known = nudged.get(key);
  if (known !== undefined) return known;
  const style = PAPER.map((paper, i) => `--c${i}:${hex(nudge(rgb, against ?? paper))}`).join(";");
  if (nudged.size > 4096) nudged.clear();
  nudged.set(key, style);
  return style;
}

interface Look {
  readonly classes: string[];
  readonly style: string;
}

function look(pen: Pen): Look {
  const classes: string[] = [];
  let style = "";
  let { fg, bg } = pen;
  if (pen.inverse && (fg || bg)) [fg, bg] = [bg, fg];
  if (pen.inverse && !fg && !bg) classes.push("ai");
  if (bg && "token" in bg) {
    classes.push(`bg${bg.token}`);
  } else if (bg) {
    classes.push("bx");
    style = `--b:${hex(bg.rgb)};${threeThemes(fg && "rgb" in fg ? fg.rgb : [0, 0, 0], bg.rgb)}`;
  } else if (fg && "token" in fg) {
    classes.push(`a${fg.token}`);
  } else if (fg) {
    classes.push("ax");
    style = threeThemes(fg.rgb, null);
  }
  if (pen.bold) classes.push("ab");
  if (pen.dim) classes.push("ad");
  if (pen.italic) classes.push("at");
  if (pen.underline) classes.push("au");
  if (pen.strike) classes.push("as");
  return { classes, style };
}

function wrap(text: string, pen: Pen): string {
  if (text === "") return "";
  let html = escapeHtml(text);
  if (pen !== PLAIN) {
    const { classes, style } = look(pen);
    if (classes.length > 0) {
      html = `<span class="${classes.join(" ")}"${style ? ` style="${style}"` : ""}>${html}</span>`;
    }
  }
  if (pen.href) html = `<a href="${escapeHtml(pen.href)}" rel="noopener noreferrer">${html}</a>`;
  return html;
}

const safeHref = (url: string): string | null => (/^https?:\/\//i.test(url) ? url : null);

// SGR | OSC 8 | any other CSI | any other OSC | a two-character escape | a lone control character
const TOKEN =
  /\x1b\[([\d;:]*)m|\x1b\]8;[^;\x07\x1b]*;([^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[\s\S]?|[\x00-\x08\x0b-\x1f\x7f]/g;

const SPECIAL = /[\x00-\x08\x0b-\x1f\x7f]/;

/** Renders one line, and answers the pen that the next line starts with. */
export function renderLine(line: string, pen: Pen = PLAIN): { readonly html: string; readonly pen: Pen } {
  if (pen === PLAIN && !SPECIAL.test(line)) return { html: escapeHtml(line), pen };
  let html = "";
  let from = 0;
  let now = pen;
  for (const match of line.matchAll(TOKEN)) {
    html += wrap(line.slice(from, match.index), now);
    from = match.index + match[0].length;
    if (match[1] !== undefined) now = applySgr(now, match[1]);
    else if (match[2] !== undefined) now = { ...now, href: safeHref(match[2]) };
  }
  html += wrap(line.slice(from), now);
  return { html, pen: isPlain(now) ? PLAIN : now };
}

const isPlain = (pen: Pen): boolean =>
  !pen.fg && !pen.bg && !pen.href && !(pen.bold || pen.dim || pen.italic || pen.underline || pen.inverse || pen.strike);

export function renderLines(lines: readonly string[]): string {
  let pen = PLAIN;
  const out: string[] = [];
  for (const line of lines) {
    const rendered = renderLine(line, pen);
    pen = rendered.pen;
    out.push(rendered.html);
  }
  return out.join("\n");
}

/** The same line without its codes, for copying, searching and reading aloud. */
export const stripCodes = (text: string): string => text.replace(TOKEN, "");
