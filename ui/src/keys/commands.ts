// Everything that has a name: palette, keyboard list, menus and keys all read this table.

import type { IconName } from "../parts/icons";
import * as act from "../state/actions";
import type { Notebook } from "../state/notebook.svelte";
import type { Workbench } from "../state/workbench.svelte";

/** Where keys act: single letters only in command mode, the rest as named. */
export type Scope = "command" | "edit" | "notebook" | "anywhere";

export interface CommandEntry {
  readonly id: string;
  readonly title: string;
  readonly keys: readonly string[];
  readonly scope: Scope;
  readonly icon: IconName;
  readonly run: (desk: Workbench) => void;
  /** False hides it from the palette where it makes no sense. */
  readonly applies?: (desk: Workbench) => boolean;
}

const inNotebook = (desk: Workbench): boolean => desk.notebook !== null;

type OnNotebook = (desk: Workbench, notebook: Notebook) => unknown;

const on =
  (action: OnNotebook) =>
  (desk: Workbench): void => {
    if (desk.notebook) void action(desk, desk.notebook);
  };

const entry = (
  id: string,
  title: string,
  keys: string,
  scope: Scope,
  icon: IconName,
  action: OnNotebook,
): CommandEntry => ({
  id,
  title,
  keys: keys === "" ? [] : keys.split(" / "),
  scope,
  icon,
  run: on(action),
  applies: inNotebook,
});

const step =
  (by: -1 | 1, extend: boolean): OnNotebook =>
  (_desk, notebook) => {
    const from = notebook.active ? notebook.indexOf(notebook.active) : -1;
    const cell = notebook.cells[Math.max(0, from + by)];
    if (!cell) return;
    if (extend) notebook.extendTo(cell);
    else notebook.select(cell);
  };

const MOVE: readonly CommandEntry[] = [
  entry("cell.edit", "Edit the cell", "Enter", "command", "pilcrow", (_d, n) => n.setMode("edit")),
  entry("cell.next", "Next cell", "J / ArrowDown", "command", "arrow-down", step(1, false)),
  entry("cell.previous", "Previous cell", "K / ArrowUp", "command", "arrow-up", step(-1, false)),
  entry(
    "cell.extendDown",
    "Extend the selection down",
    "Shift+J / Shift+ArrowDown",
    "command",
    "arrow-down",
    step(1, true),
  ),
  entry("cell.extendUp", "Extend the selection up", "Shift+K / Shift+ArrowUp", "command", "arrow-up", step(-1, true)),
  entry("cell.selectAll", "Select all cells", "Mod+A", "command", "list-tree", (_d, n) => n.selectAll()),
];

const CELLS: readonly CommandEntry[] = [
  entry("cell.insertAbove", "Insert a cell above", "A", "command", "plus", (d, n) => act.insert(d, n, "above", "code")),
  entry("cell.insertBelow", "Insert a cell below", "B", "command", "plus", (d, n) => act.insert(d, n, "below", "code")),
  entry("cell.insertText", "Insert a text cell below", "", "command", "pilcrow", (d, n) =>
    act.insert(d, n, "below", "markdown"),
  ),
  entry("cell.delete", "Delete the cell", "D D", "command", "trash-2", (d, n) => act.remove(d, n)),
  entry("cell.undo", "Undo a cell change", "Z / Mod+Z", "command", "undo-2", act.undo),
  entry("cell.redo", "Redo a cell change", "Shift+Z / Mod+Shift+Z", "command", "redo-2", act.redo),
  entry("cell.toText", "Make it a text cell", "M", "command", "pilcrow", (d, n) => act.changeKind(d, n, "markdown")),
  entry("cell.toCode", "Make it a code cell", "Y", "command", "code", (d, n) => act.changeKind(d, n, "code")),
  entry("cell.toRaw", "Make it a raw cell", "R", "command", "file-text", (d, n) => act.changeKind(d, n, "raw")),
  ...[1, 2, 3, 4, 5, 6].map((level) =>
    entry(`cell.heading${level}`, `Make it a heading, level ${level}`, String(level), "command", "pilcrow", (d, n) =>
      act.makeHeading(d, n, level),
    ),
  ),
  entry("cell.copy", "Copy cells", "C / Mod+C", "command", "copy", act.copy),
  entry("cell.cut", "Cut cells", "X / Mod+X", "command", "scissors", act.cut),
  entry("cell.paste", "Paste cells below", "V", "command", "clipboard-paste", (d, n) => act.paste(d, n)),
  entry("cell.merge", "Merge selected cells", "Shift+M", "command", "fold-vertical", act.merge),
  entry("cell.moveUp", "Move the cell up", "Alt+ArrowUp", "command", "arrow-up", (d, n) => act.move(d, n, -1)),
  entry("cell.moveDown", "Move the cell down", "Alt+ArrowDown", "command", "arrow-down", (d, n) => act.move(d, n, 1)),
  entry("cell.foldOutput", "Fold or show the output", "O", "command", "fold-vertical", (d, n) =>
    act.fold(d, n, "outputs"),
  ),
  entry("cell.foldSource", "Fold or show the source", "Shift+O", "command", "fold-vertical", (d, n) =>
    act.fold(d, n, "source"),
  ),
  entry("cell.lineNumbers", "Line numbers", "L", "command", "list-tree", (d, n) => {
    for (const cell of act.targets(n)) cell.lineNumbers = !(cell.lineNumbers ?? d.settings?.line_numbers ?? false);
  }),
  entry("cell.clear", "Clear the output", "", "command", "x", (d, n) => act.clearOutputs(d, n, false)),
  entry("notebook.clear", "Clear all outputs", "", "notebook", "x", (d, n) => act.clearOutputs(d, n, true)),
];

const RUN: readonly CommandEntry[] = [
  entry("run.advance", "Run and go to the next cell", "Shift+Enter", "notebook", "play", act.runAndAdvance),
  entry("run.stay", "Run and stay", "Mod+Enter", "notebook", "play", act.runTargets),
  entry("run.insert", "Run and insert below", "Alt+Enter", "notebook", "play", act.runAndInsert),
  entry("run.all", "Run all cells", "Mod+Shift+Enter", "notebook", "chevrons-right", act.runAll),
  entry("run.above", "Run all above", "Mod+F8", "notebook", "chevrons-right", act.runAbove),
  entry("run.below", "Run this and all below", "Mod+F10", "notebook", "chevrons-right", act.runBelow),
  entry("run.interrupt", "Stop the running cell", "I I", "command", "square", act.interrupt),
  entry("run.restart", "Restart the kernel", "0 0", "command", "rotate-cw", (d, n) => act.restart(d, n, false)),
  entry("run.restartAll", "Restart and run all cells", "", "notebook", "rotate-cw", (d, n) => act.restart(d, n, true)),
  entry("run.where", "Choose a sandbox…", "", "notebook", "server", (d) => (d.overlay = { kind: "sandbox" })),
];

const anywhere = (
  id: string,
  title: string,
  keys: string,
  icon: IconName,
  run: (desk: Workbench) => void,
  applies?: (desk: Workbench) => boolean,
): CommandEntry => ({
  id,
  title,
  keys: keys === "" ? [] : keys.split(" / "),
  scope: "anywhere",
  icon,
  run,
  ...(applies ? { applies } : {}),
});

const APP: readonly CommandEntry[] = [
  anywhere(
    "app.palette",
    "Command palette",
    "Mod+K / Mod+Shift+P",
    "search",
    (d) => (d.overlay = { kind: "palette", query: "" }),
  ),
  anywhere("app.find", "Find in cells and outputs", "Mod+F", "search", (d) => d.find.show(false), inNotebook),
  anywhere("app.replace", "Find and replace", "Mod+Shift+F", "replace", (d) => d.find.show(true), inNotebook),
  anywhere("app.save", "Save", "Mod+S", "save", on(act.save), inNotebook),
  anywhere(
    "app.saveAs",
    "Save as…",
    "",
    "save",
    (d) => {
      if (d.notebook) d.overlay = { kind: "save-as", resource: null, name: d.notebook.status.title };
    },
    inNotebook,
  ),
  anywhere("app.new", "New notebook", "Mod+T", "plus", (d) => void d.create()),
  anywhere("app.open", "Open a notebook…", "Mod+O", "folder-open", (d) => (d.overlay = { kind: "open" })),
  anywhere("app.close", "Close the tab", "Mod+W", "x", (d) => {
    if (d.notebook) act.close(d, d.notebook);
    else if (d.tab === "settings") closeSettings(d);
  }),
  anywhere("app.start", "Start screen", "", "plug", (d) => (d.tab = "start")),
  anywhere(
    "app.addServer",
    "Add a Jupyter server…",
    "",
    "server",
    (d) => (d.overlay = { kind: "connect", connection: null }),
  ),
  anywhere("app.side", "Show or hide the sidebar", "Mod+B", "panel-left", (d) =>
    d.layout.toggleSide(d.layout.side ?? "outline"),
  ),
  anywhere("app.outline", "Outline", "Mod+1", "list-tree", (d) => d.layout.toggleSide("outline")),
  anywhere("app.runtimes", "Runtimes", "Mod+2", "server", (d) => d.layout.toggleSide("runtimes")),
  anywhere("app.bottom", "Show or hide the bottom panel", "Mod+J", "panel-bottom", (d) => {
    d.layout.toggleBottom("logs");
  }),
  anywhere("app.region", "Next region of the window", "F6", "panel-left", () => nextRegion(1)),
  anywhere("app.regionBack", "Previous region of the window", "Shift+F6", "panel-left", () => nextRegion(-1)),
  anywhere("app.settings", "Settings", "Mod+Comma", "settings", (d) => {
    d.settingsOpen = true;
    d.tab = "settings";
  }),
  anywhere("app.progress", "Read progress", "", "info", (d) => readProgress(d), inNotebook),
  {
    id: "app.keyboard",
    title: "Keyboard",
    keys: ["H"],
    scope: "command",
    icon: "keyboard",
    run: (d) => (d.overlay = { kind: "shortcuts" }),
  },
];

export function closeSettings(desk: Workbench): void {
  desk.settingsOpen = false;
  desk.tab = desk.notebooks.at(-1)?.id ?? "start";
}

/** Speaks the last line that the running cell printed. */
function readProgress(desk: Workbench): void {
  const key = desk.notebook?.queue.running;
  const cell = key === null || key === undefined ? undefined : desk.notebook?.cell(key);
  const last = cell?.outputs.findLast((output) => output.body.type === "text");
  if (last?.body.type !== "text") {
    desk.announcer.say("Nothing is running, or it has printed nothing yet.");
    return;
  }
  const { head, tail } = last.body.text;
  desk.announcer.say((tail.at(-1) ?? head.at(-1))?.text ?? "");
}

/** Moves the focus to the next region that is drawn; one without controls takes it itself, so that none is a dead end. */
export function nextRegion(by: 1 | -1): void {
  const drawn = (element: HTMLElement): boolean => element.offsetParent !== null;
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter(drawn);
  if (regions.length === 0) return;
  const at = regions.findIndex((region) => region.contains(document.activeElement));
  const from = at < 0 && by < 0 ? 0 : at;
  const region = regions[(from + by + regions.length) % regions.length];
  if (!region) return;
  const inside = [
    ...region.querySelectorAll<HTMLElement>('[tabindex="0"], button:not([disabled]):not([tabindex="-1"]), input'),
  ].filter(drawn);
  const target = inside[0] ?? region;
  if (target === region && !region.hasAttribute("tabindex")) region.tabIndex = -1;
  target.focus();
}

export const COMMANDS: readonly CommandEntry[] = [...MOVE, ...CELLS, ...RUN, ...APP];

const BY_ID = new Map(COMMANDS.map((command) => [command.id, command]));

export const command = (id: string): CommandEntry | undefined => BY_ID.get(id);
