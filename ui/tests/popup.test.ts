// Suggestions while a person types: one that was not asked for is never in the way of what is typed.
import { completionStatus, currentCompletions, selectedCompletionIndex } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { createEditor } from "../src/editor/setup";

let view: EditorView;
let matches: readonly string[] | null;

beforeEach(() => {
  document.body.replaceChildren();
  matches = null;
  view = createEditor(document.body, {
    text: "",
    language: "python",
    label: "source",
    hint: "",
    lineNumbers: false,
    readOnly: false,
    kernel: {
      complete: (code, position) => {
        const from = position - (/\w*$/.exec(code.slice(0, position))?.[0].length ?? 0);
        return matches && Promise.resolve({ from, to: position, matches: matches.map((label) => [label, null]) });
      },
      inspect: () => null,
    },
    onEdit: () => undefined,
    onCaret: () => undefined,
    onFocus: () => undefined,
    onLeave: () => undefined,
    onSplit: () => undefined,
  });
  view.focus();
});
afterEach(() => view.destroy());

/** Types as a person does, and waits longer than a popup takes to open and to listen to keys. */
async function type(text: string): Promise<void> {
  for (const letter of text) {
    const { head } = view.state.selection.main;
    view.dispatch({
      changes: { from: head, insert: letter },
      selection: { anchor: head + 1 },
      userEvent: "input.type",
    });
  }
  await new Promise((resolve) => setTimeout(resolve, 350));
}

const press = (keys: string): Promise<void> => userEvent.setup().keyboard(keys);
const text = (): string => view.state.doc.toString();
const labels = (): string[] => currentCompletions(view.state).map(({ label }) => label);

it("Enter is a new line under a popup that opened by itself", async () => {
  matches = ["value_one", "value_two"];
  await type("val");
  expect(labels()).toEqual(["value_one", "value_two"]);
  expect(selectedCompletionIndex(view.state)).toBeNull();
  await press("{Enter}");
  expect(text()).toBe("val\n");
});

it("Enter takes what the person moved to with the arrows", async () => {
  matches = ["value_one", "value_two"];
  await type("val");
  await press("{ArrowDown}{ArrowDown}{Enter}");
  expect(text()).toBe("value_two");
});

it("Tab takes the first of a popup that opened by itself", async () => {
  matches = ["value_one", "value_two"];
  await type("val");
  await press("{Tab}");
  expect(text()).toBe("value_one");
});

it.each(["{Tab}", "{Control>} {/Control}"])("Enter takes the first of a popup that %s asked for", async (keys) => {
  await type("val");
  matches = ["value_one", "value_two"];
  await press(keys);
  await vi.waitFor(() => expect(completionStatus(view.state)).toBe("active"));
  expect(selectedCompletionIndex(view.state)).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await press("{Enter}");
  expect(text()).toBe("value_one");
});

it("a popup that opens by itself after one that was asked for takes no Enter", async () => {
  await type("val");
  matches = ["value_one", "value_two"];
  await press("{Tab}");
  await vi.waitFor(() => expect(completionStatus(view.state)).toBe("active"));
  await press("{Escape}");
  await type("u");
  expect(completionStatus(view.state)).toBe("active");
  await press("{Enter}");
  expect(text()).toBe("valu\n");
});

it.each([null, ["print"]])("a word that is whole opens nothing (the kernel knows %s)", async (known) => {
  matches = known;
  await type("pri");
  expect(completionStatus(view.state)).toBe("active");
  await type("nt");
  expect(completionStatus(view.state)).toBeNull();
  await press("{Enter}");
  expect(text()).toBe("print\n");
});

it.each(["EDIT", "brk", "DEF"])("without a kernel nothing is suggested that does not begin with %s", async (word) => {
  await type(word);
  expect(completionStatus(view.state)).toBeNull();
});

it("what was left out comes back when letters are taken back", async () => {
  await type("pro");
  expect(labels()).not.toContain("print");
  view.dispatch({ changes: { from: 2, to: 3 }, userEvent: "delete.backward" });
  await new Promise((resolve) => setTimeout(resolve, 350));
  await press("{Control>} {/Control}");
  await vi.waitFor(() => expect(labels()).toContain("print"));
});
