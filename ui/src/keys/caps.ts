// Keys are written once as "Mod+Shift+Enter" or "D D" and shown the way this computer's keyboard names them.

export const isMac = (): boolean => /mac|iphone|ipad/i.test(navigator.platform);

const MAC: Record<string, string> = { Mod: "⌘", Ctrl: "⌃", Alt: "⌥", Shift: "⇧" };
const OTHER: Record<string, string> = { Mod: "Ctrl", Ctrl: "Ctrl", Alt: "Alt", Shift: "Shift" };
const NAMES: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  Comma: ",",
  Backquote: "`",
  Minus: "-",
  Space: "Space",
};

const cap = (part: string, mac: boolean): string => (mac ? MAC : OTHER)[part] ?? NAMES[part] ?? part;

export const keyCaps = (keys: string, mac = isMac()): string[] =>
  keys.split(" ").flatMap((chord) => chord.split("+").map((part) => cap(part, mac)));

/** "Ctrl+Shift+Enter" or "⌘⇧Enter", for tooltips and menus. */
export const keyText = (keys: string, mac = isMac()): string =>
  keys
    .split(" ")
    .map((chord) =>
      chord
        .split("+")
        .map((part) => cap(part, mac))
        .join(mac ? "" : "+"),
    )
    .join(" ");
