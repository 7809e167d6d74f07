// What the kernel is asked while a person types, and what becomes of its answer.
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState, Text } from "@codemirror/state";
import { describe, expect, it } from "vitest";

import { kernelSource } from "../src/editor/completion";
import { excerptAt } from "../src/editor/excerpt";
import { firstLine } from "../src/shell/outline";

const FUNCTIONS = Array.from({ length: 2500 }, (_, i) => `def function_${i}(first):\n    return first * ${i}`).join(
  "\n",
);

describe("what the kernel is asked about", () => {
  it("is all of a source of usual length", () => {
    expect(excerptAt(Text.of(["import os", "os.pa"]), 15)).toEqual({ code: "import os\nos.pa", from: 0 });
  });

  it("is the surroundings of the caret in a long one, from a line that is not indented", () => {
    const position = FUNCTIONS.indexOf("return first * 2000") + 6;
    const { code, from } = excerptAt(Text.of(FUNCTIONS.split("\n")), position);
    expect(code.length).toBeLessThan(24_000);
    expect(code).toMatch(/^def function_/);
    expect(FUNCTIONS.slice(from, from + code.length)).toBe(code);
    expect(code.slice(0, position - from)).toMatch(/return$/);
    expect(position - from).toBeGreaterThan(15_000);
  });

  it("is never more, though everything stands in one line or in one block", () => {
    for (const source of ["x".repeat(200_000), `if x:\n${"    y = 1\n".repeat(20_000)}`]) {
      for (const position of [0, 100_000, source.length]) {
        const { code, from } = excerptAt(Text.of(source.split("\n")), position);
        expect(code.length).toBeLessThan(24_000);
        expect(from).toBeLessThanOrEqual(position);
        expect(source.slice(from, from + code.length)).toBe(code);
      }
    }
  });
});

describe("the kernel's answer", () => {
  it("stands where the word stands in the whole source", async () => {
    const source = `${FUNCTIONS}\nos.pa`;
    const complete = kernelSource({
      complete: (_code, position) =>
        Promise.resolve({ from: position - 2, to: position, matches: [["path", "module"]] }),
      inspect: () => null,
    });
    const context = new CompletionContext(EditorState.create({ doc: source }), source.length, true);
    const result = await complete(context);
    expect([result?.from, result?.to]).toEqual([source.length - 2, source.length]);
    expect(result?.options.map(({ label }) => label)).toEqual(["path"]);
  });
});

describe("the name of a cell in the outline", () => {
  it("is its first line that is no comment, else its first that is not empty", () => {
    expect(firstLine("\n# what\n  x = 1  \ny")).toBe("x = 1");
    expect(firstLine("\n\n  # only this\n# and this\n")).toBe("# only this");
    expect(firstLine("x")).toBe("x");
    expect(firstLine("\n \n")).toBe("");
  });
});
