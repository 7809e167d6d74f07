// What find shows follows the document, and takes nobody anywhere because of that.
import { describe, expect, it } from "vitest";

import type { CellView, Command, OutputMatch, Reply } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { text } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const rest = (ms = 250): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms)).then(() => settle());

/** An owner that finds "cat" in the output of each cell that has one, as often as `lines` says. */
async function find(lines: { count: number }, ...cells: Partial<CellView>[]): Promise<OpenPage> {
  const views = cells.map((cell) => cellView(cell));
  const page = await openPage(
    new FixtureOwner(workspaceView(), [{ id: "d1", status: documentStatus(), cells: views }]),
  );
  page.owner.answers = (command: Command): Reply | undefined => {
    if (command.type !== "search_outputs") return undefined;
    const withOutput = views.find((view) => view.outputs.length > 0);
    const matches = Array.from({ length: lines.count }, (_, line): OutputMatch => {
      const output = withOutput?.outputs[0]?.id ?? "";
      return { cell: withOutput?.key ?? "", output, line, column: 0, length: 3, excerpt: "cat" };
    });
    return { type: "matches", matches, more: false };
  };
  page.desk.find.show(true);
  page.desk.find.query = "cat";
  await rest();
  return page;
}

const edit = (page: OpenPage, index: number, from: number, to: number, insert: string): void => {
  const cell = page.notebook().cells[index];
  if (!cell) throw new Error("no such cell");
  const edits = [{ from, to, insert }];
  page.owner.patch("d1", {
    type: "source_edited",
    cell: cell.key,
    revision: cell.source.revision + 1,
    author: "other",
    edits,
  });
};

const print = (page: OpenPage, index: number): void => {
  const cell = page.notebook().cells[index];
  page.owner.patch("d1", { type: "outputs_appended", cell: cell?.key ?? "", outputs: [text("cat")] });
};

const count = (page: OpenPage): string => page.root.querySelector(".find__n")?.textContent?.trim() ?? "";
const marked = (): string[] =>
  ["found", "found-current"].flatMap((name) => [...(CSS.highlights.get(name) ?? [])].map(String));

describe("what find shows", () => {
  it("follows an edit of a cell: count and marks", async () => {
    const page = await find({ count: 0 }, { source: "cat" }, { source: "dog" });
    expect([count(page), marked()]).toEqual(["1 of 1", ["cat"]]);
    edit(page, 1, 0, 3, "a cat and a cat");
    await rest();
    expect([count(page), marked()]).toEqual(["1 of 3", ["cat", "cat", "cat"]]);
    edit(page, 0, 0, 3, "x");
    await rest();
    expect([count(page), marked()]).toEqual(["1 of 2", ["cat", "cat"]]);
  });

  it("follows what is typed in an editor here, and leaves its person there", async () => {
    const page = await find({ count: 0 }, { source: "cat" }, { source: "" });
    const [, cell] = page.notebook().cells;
    if (!cell) throw new Error("no cell");
    page.notebook().select(cell, "edit");
    cell.replace("cat cat");
    page.desk.pump(page.notebook(), cell);
    await rest();
    expect(count(page)).toBe("1 of 3");
    expect([page.notebook().active, page.notebook().mode]).toEqual([cell, "edit"]);
  });

  it("follows new output, and asks the owner for nothing else", async () => {
    const lines = { count: 1 };
    const page = await find(lines, { source: "x", outputs: [text("cat")] }, { source: "y" });
    expect(count(page)).toBe("1 of 1");
    edit(page, 1, 0, 1, "cat");
    await rest();
    expect(count(page)).toBe("1 of 2");
    expect(page.sent("search_outputs")).toHaveLength(1);
    lines.count = 2;
    print(page, 0);
    await rest(500);
    expect(count(page)).toBe("1 of 3");
    expect(page.sent("search_outputs")).toHaveLength(2);
  });

  it("asks seldom while output floods in, and is true when it is over", async () => {
    const lines = { count: 1 };
    const page = await find(lines, { source: "x", outputs: [text("cat")] });
    const started = performance.now();
    for (let i = 0; i < 60; i++) {
      lines.count += 1;
      print(page, 0);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const floods = performance.now() - started;
    await rest(700);
    expect(count(page)).toBe("1 of 61");
    expect(page.sent("search_outputs").length).toBeLessThanOrEqual(3 + floods / 300);
  });

  it("keeps quiet where a search that nobody asked for fails", async () => {
    const page = await find({ count: 0 }, { source: "cat", outputs: [text("x")] });
    page.owner.answers = (command) =>
      command.type === "search_outputs"
        ? { code: "internal", message: "The search broke off.", hint: "", retry: true }
        : undefined;
    print(page, 0);
    await rest(500);
    expect([count(page), page.desk.toasts.items]).toEqual(["1 of 1", []]);
  });

  it("stays at the hit that the person went to", async () => {
    const page = await find({ count: 0 }, { source: "cat" }, { source: "cat cat" });
    page.desk.find.step(2);
    await settle();
    const selected = page.notebook().active;
    edit(page, 0, 0, 3, "cat cat");
    edit(page, 1, 0, 0, "x ");
    await rest();
    expect(count(page)).toBe("4 of 4");
    expect(page.desk.find.current?.from).toBe(6);
    expect(page.notebook().active).toBe(selected);
    edit(page, 1, 6, 9, "dog");
    await rest();
    expect(count(page)).toBe("3 of 3");
  });

  it("in selected cells stays in those that were selected", async () => {
    const page = await find({ count: 0 }, { source: "cat" }, { source: "cat" }, { source: "cat" });
    const [first, second] = page.notebook().cells;
    if (first) page.notebook().select(first);
    if (second) page.notebook().extendTo(second);
    page.desk.find.selectedOnly = true;
    await rest();
    expect(count(page)).toBe("1 of 2");
    edit(page, 1, 0, 0, "cat ");
    edit(page, 2, 0, 0, "cat ");
    await rest();
    expect(count(page)).toBe("1 of 3");
  });
});
