import { describe, expect, it, vi } from "vitest";

import { keyCaps, keyText } from "../src/keys/caps";
import { chordOf, PAIR_MS, Sequence } from "../src/keys/chords";
import { COMMANDS, nextRegion } from "../src/keys/commands";
import { Dispatcher, whereIs } from "../src/keys/dispatch";
import type { Workbench } from "../src/state/workbench.svelte";

const press = (key: string, extra: Partial<KeyboardEvent> = {}) => ({
  key,
  code: "",
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...extra,
});

describe("a chord", () => {
  it("is named by its key and modifiers", () => {
    expect(chordOf(press("j"), false)).toBe("J");
    expect(chordOf(press("J", { shiftKey: true }), false)).toBe("Shift+J");
    expect(chordOf(press("Enter", { shiftKey: true }), false)).toBe("Shift+Enter");
    expect(chordOf(press("K", { ctrlKey: true }), false)).toBe("Mod+K");
    expect(chordOf(press("p", { metaKey: true, shiftKey: true }), true)).toBe("Mod+Shift+P");
    expect(chordOf(press(",", { ctrlKey: true, code: "Comma" }), false)).toBe("Mod+Comma");
    expect(chordOf(press("0"), false)).toBe("0");
  });

  it("does not depend on the alphabet of the keyboard", () => {
    expect(chordOf(press("о", { code: "KeyJ" }), false)).toBe("J");
  });

  it("is none while only a modifier is held", () => {
    expect(chordOf(press("Shift", { shiftKey: true }), false)).toBeNull();
  });
});

describe("pairs", () => {
  it("count only within 600 ms", () => {
    const sequence = new Sequence();
    expect(sequence.next("D", 0).pair).toBeNull();
    expect(sequence.next("D", PAIR_MS).pair).toBe("D D");
    sequence.reset();
    sequence.next("I", 5000);
    expect(sequence.next("I", 5000 + PAIR_MS + 1).pair).toBeNull();
  });
});

describe("the table of keys", () => {
  const dispatcher = new Dispatcher();
  const id = (keys: string, where: Parameters<Dispatcher["resolve"]>[1]) => dispatcher.resolve(keys, where)?.id;

  it.each([
    ["Enter", "cell.edit"],
    ["J", "cell.next"],
    ["ArrowUp", "cell.previous"],
    ["Shift+K", "cell.extendUp"],
    ["A", "cell.insertAbove"],
    ["B", "cell.insertBelow"],
    ["D D", "cell.delete"],
    ["Z", "cell.undo"],
    ["Shift+Z", "cell.redo"],
    ["M", "cell.toText"],
    ["Y", "cell.toCode"],
    ["R", "cell.toRaw"],
    ["3", "cell.heading3"],
    ["C", "cell.copy"],
    ["X", "cell.cut"],
    ["V", "cell.paste"],
    ["Shift+M", "cell.merge"],
    ["O", "cell.foldOutput"],
    ["L", "cell.lineNumbers"],
    ["I I", "run.interrupt"],
    ["0 0", "run.restart"],
    ["H", "app.keyboard"],
  ])("has %s in command mode, and only there", (keys, command) => {
    expect(id(keys, "notebook")).toBe(command);
    expect(id(keys, "editor")).toBeUndefined();
    expect(id(keys, "field")).toBeUndefined();
  });

  it.each([
    ["Shift+Enter", "run.advance"],
    ["Mod+Enter", "run.stay"],
    ["Alt+Enter", "run.insert"],
    ["Mod+S", "app.save"],
  ])("has %s in both modes", (keys, command) => {
    expect(id(keys, "notebook")).toBe(command);
    expect(id(keys, "editor")).toBe(command);
  });

  it.each([
    ["Mod+K", "app.palette"],
    ["Mod+Shift+P", "app.palette"],
    ["Mod+F", "app.find"],
    ["Mod+Shift+F", "app.replace"],
    ["Mod+B", "app.side"],
    ["Mod+J", "app.bottom"],
    ["Mod+Comma", "app.settings"],
    ["F6", "app.region"],
  ])("has %s anywhere but in a dialog", (keys, command) => {
    for (const where of ["notebook", "editor", "field", "elsewhere"] as const) expect(id(keys, where)).toBe(command);
    expect(id(keys, "dialog")).toBeUndefined();
  });

  it("names every key once in each place", () => {
    const seen = new Map<string, string>();
    for (const command of COMMANDS) {
      for (const keys of command.keys) {
        const place = `${command.scope} ${keys}`;
        expect(seen.get(place), place).toBeUndefined();
        seen.set(place, command.id);
      }
    }
  });
});

describe("a key press", () => {
  function handle(markup: string, key: string) {
    document.body.innerHTML = markup;
    const run = vi.fn();
    const dispatcher = new Dispatcher([
      { id: "t", title: "T", keys: ["Enter", "J"], scope: "command", icon: "x", run },
    ]);
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    const target = document.querySelector("[data-t]");
    target?.addEventListener("keydown", (e) => dispatcher.handle(e as KeyboardEvent, {} as Workbench));
    target?.dispatchEvent(event);
    return { run, event };
  }

  it("acts on the notebook when a cell has the focus", () => {
    const { run, event } = handle('<div class="nb"><article data-t></article></div>', "J");
    expect(run).toHaveBeenCalledOnce();
    expect(event.defaultPrevented).toBe(true);
  });

  it("presses a focused button instead of editing the cell", () => {
    expect(handle('<div class="nb"><button data-t></button></div>', "Enter").run).not.toHaveBeenCalled();
    expect(handle('<div class="nb"><button data-t></button></div>', "j").run).toHaveBeenCalled();
  });

  it("goes to a field of the notebook untouched", () => {
    expect(handle('<div class="nb"><input data-t></div>', "j").event.defaultPrevented).toBe(false);
  });

  it("goes to the editor untouched", () => {
    expect(
      handle('<div class="nb"><div class="cm-editor"><div data-t></div></div></div>', "j").run,
    ).not.toHaveBeenCalled();
  });

  it("that has no focus left belongs to the notebook that is shown, unless a dialog is open", () => {
    document.body.innerHTML = "<main></main>";
    expect(whereIs(document.body)).toBe("elsewhere");
    document.body.innerHTML = '<section class="nb"></section>';
    expect(whereIs(document.body)).toBe("notebook");
    document.body.innerHTML = '<section class="nb"></section><div aria-modal="true"></div>';
    expect(whereIs(document.body)).toBe("dialog");
  });

  it("knows a dialog", () => {
    document.body.innerHTML = '<div aria-modal="true"><input id="i"></div>';
    expect(whereIs(document.getElementById("i"))).toBe("dialog");
  });
});

describe("the next region", () => {
  /** jsdom has no layout: everything that is connected counts as drawn. */
  function regions(markup: string): string[] {
    vi.spyOn(HTMLElement.prototype, "offsetParent", "get").mockReturnValue(document.body);
    document.body.innerHTML = markup;
    return ["", "", "", ""].map(() => {
      nextRegion(1);
      return document.activeElement?.closest<HTMLElement>("[data-region]")?.dataset.region ?? "none";
    });
  }

  it("is reached though one before it has nothing to focus", () => {
    const order = regions(
      '<div data-region="toolbar"><button></button></div><div data-region="notebook"><div tabindex="0"></div></div><div data-region="status"></div>',
    );
    expect(order).toEqual(["toolbar", "notebook", "status", "toolbar"]);
  });
});

describe("key caps", () => {
  it("are written as this computer's keyboard names them", () => {
    expect(keyCaps("Mod+Shift+P", true)).toEqual(["⌘", "⇧", "P"]);
    expect(keyCaps("D D", false)).toEqual(["D", "D"]);
    expect(keyText("Mod+Shift+P", false)).toBe("Ctrl+Shift+P");
    expect(keyText("Mod+S", true)).toBe("⌘S");
  });
});
