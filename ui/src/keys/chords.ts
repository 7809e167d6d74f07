// Key events as the text the binding tables use: "Mod+Shift+Enter", "J", "Ctrl+Space". Mod is Cmd on a Mac and Ctrl elsewhere.

import { isMac } from "./caps";

type KeyPress = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

const CODES: Record<string, string> = { Minus: "Minus", Comma: "Comma", Backquote: "Backquote", Slash: "/" };
const MODIFIERS = new Set(["Control", "Shift", "Alt", "Meta", "AltGraph", "CapsLock"]);

function keyName(event: KeyPress): string {
  if (event.key === " ") return "Space";
  if (event.key.length > 1) return event.key;
  const named = CODES[event.code];
  if (named !== undefined) return named;
  if (/^[a-z]$/i.test(event.key)) return event.key.toUpperCase();
  // Another alphabet, or what Alt made of the key: the place on the keyboard decides.
  const letter = /^Key([A-Z])$/.exec(event.code);
  if (letter) return letter[1] ?? event.key;
  const digit = /^Digit(\d)$/.exec(event.code);
  if (digit && (event.altKey || event.ctrlKey || event.metaKey)) return digit[1] ?? event.key;
  return event.key;
}

export function chordOf(event: KeyPress, mac = isMac()): string | null {
  if (MODIFIERS.has(event.key)) return null;
  const key = keyName(event);
  const parts: string[] = [];
  if (mac ? event.metaKey : event.ctrlKey) parts.push("Mod");
  if (mac && event.ctrlKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  // Shift is part of what "?" or "(" is, but not of what "J" is.
  if (event.shiftKey && (key.length > 1 || /[A-Z/]/.test(key))) parts.push("Shift");
  return [...parts, key].join("+");
}

/** "Ctrl+Space" is Ctrl on every system; on others than a Mac, Ctrl and Mod are the same key. */
export const normalise = (keys: string, mac = isMac()): string => (mac ? keys : keys.replace(/\bCtrl\+/g, "Mod+"));

/** The second key of a pair must follow within this time. */
export const PAIR_MS = 600;

export class Sequence {
  #first: string | null = null;
  #at = 0;

  /** The keys typed so far: the chord alone, or with the one before it. */
  next(chord: string, now: number): { readonly single: string; readonly pair: string | null } {
    const pair = this.#first !== null && now - this.#at <= PAIR_MS ? `${this.#first} ${chord}` : null;
    this.#first = chord;
    this.#at = now;
    return { single: chord, pair };
  }

  reset(): void {
    this.#first = null;
  }
}
