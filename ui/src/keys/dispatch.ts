// One listener for the whole window. It decides by where the focus is which table a key belongs to; what it does not know goes
// on to the editor or the browser.

import type { Workbench } from "../state/workbench.svelte";
import { chordOf, normalise, Sequence } from "./chords";
import { COMMANDS, type CommandEntry, type Scope } from "./commands";

export type Where = "dialog" | "editor" | "field" | "notebook" | "elsewhere";

/** Keys go to the page itself when what had the focus is gone: they mean the notebook that is shown, unless a question is open. */
function ownerOfNobodysKeys(): Where {
  if (document.querySelector("[aria-modal=true]")) return "dialog";
  return document.querySelector(".nb") ? "notebook" : "elsewhere";
}

/** Where the focus is, as far as keys are concerned. */
export function whereIs(target: EventTarget | null): Where {
  if (!(target instanceof Element)) return "elsewhere";
  if (target === document.body) return ownerOfNobodysKeys();
  if (target.closest("[aria-modal=true]")) return "dialog";
  if (target.closest(".cm-editor")) return target.closest(".nb") ? "editor" : "field";
  if (target.closest("input, textarea, select, [contenteditable=true]")) return "field";
  return target.closest(".nb") ? "notebook" : "elsewhere";
}

const SCOPES: Record<Where, readonly Scope[]> = {
  dialog: [],
  editor: ["edit", "notebook", "anywhere"],
  field: ["anywhere"],
  notebook: ["command", "notebook", "anywhere"],
  elsewhere: ["anywhere"],
};

/** Enter and Space press a focused button, they do not edit the cell around it. */
const pressesControl = (event: KeyboardEvent): boolean =>
  event.target instanceof Element &&
  event.target.closest("button, a[href], summary, [role=separator]") !== null &&
  !event.ctrlKey &&
  !event.metaKey &&
  !event.shiftKey &&
  (event.key === "Enter" || event.key === " ");

export class Dispatcher {
  readonly #sequence = new Sequence();
  readonly #table = new Map<string, CommandEntry[]>();

  constructor(commands: readonly CommandEntry[] = COMMANDS) {
    for (const command of commands) {
      for (const keys of command.keys) {
        const chord = normalise(keys);
        this.#table.set(chord, [...(this.#table.get(chord) ?? []), command]);
      }
    }
  }

  /** The command for these keys there, if there is one. */
  resolve(keys: string, where: Where): CommandEntry | undefined {
    const scopes = SCOPES[where];
    return this.#table.get(keys)?.find((command) => scopes.includes(command.scope));
  }

  handle(event: KeyboardEvent, desk: Workbench): void {
    if (event.defaultPrevented || event.isComposing) return;
    const place = whereIs(event.target);
    const halted = place === "notebook" && desk.notebook?.halted === true;
    if (halted && event.key === "Escape") desk.notebook?.setMode("command");
    const where = halted ? "elsewhere" : place;
    if (pressesControl(event) && where !== "editor") return;
    const chord = chordOf(event);
    if (chord === null) return;
    const { single, pair } = this.#sequence.next(chord, event.timeStamp);
    const command = (pair === null ? undefined : this.resolve(pair, where)) ?? this.resolve(single, where);
    if (!command || (command.applies && !command.applies(desk))) return;
    event.preventDefault();
    event.stopPropagation();
    this.#sequence.reset();
    command.run(desk);
  }
}
