// What goes away under a person who types: their keys must not become commands, and their caret stays where it can.
import { EditorView } from "@codemirror/view";
import { screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";

import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, rows, settle, type OpenPage } from "./page";

const open = (sources: readonly string[]): Promise<OpenPage> =>
  openPage(
    new FixtureOwner(workspaceView(), [
      { id: "d1", status: documentStatus(), cells: sources.map((source) => cellView({ source })) },
    ]),
  );

async function edit(page: OpenPage, index: number): Promise<EditorView> {
  const cell = page.notebook().cells[index];
  if (!cell) throw new Error("no cell");
  page.notebook().select(cell, "edit");
  await settle();
  const view = EditorView.findFromDOM(rows(page)[index]?.querySelector<HTMLElement>(".cm-editor") ?? document.body);
  if (!view) throw new Error("no editor");
  return view;
}

const takeAway = (page: OpenPage, index: number): void =>
  page.owner.patch("d1", { type: "cells_removed", cells: [page.notebook().cells[index]?.key ?? ""] });

const messages = (): string => screen.getByRole("region", { name: "Messages" }).textContent ?? "";

describe("the cell that somebody types in is removed by somebody else", () => {
  it("and what is typed on starts nothing until Escape", async () => {
    const page = await open(["a", "b", "c"]);
    await edit(page, 1);
    takeAway(page, 1);
    await settle();
    expect(messages()).toMatch(/is gone.*Copy the text/);
    await page.user.keyboard("ddxzbam{Enter}dd{Control>}x{/Control}");
    await settle();
    for (const type of ["delete_cells", "copy_cells", "undo", "insert_cell", "change_kind"] as const)
      expect(page.sent(type), type).toEqual([]);
    expect(page.notebook().mode).toBe("command");
    await page.user.keyboard("{Escape}dd");
    await settle();
    expect(page.sent("delete_cells")).toHaveLength(1);
  });

  it("a click on a cell makes keys commands again", async () => {
    const page = await open(["a", "b", "c"]);
    await edit(page, 1);
    takeAway(page, 1);
    await settle();
    await page.user.click(rows(page)[0]?.querySelector(".cell__gutter") ?? document.body);
    await page.user.keyboard("b");
    await settle();
    expect(page.sent("insert_cell")).toHaveLength(1);
  });

  it("a second removal does not start them again", async () => {
    const page = await open(["a", "b", "c", "d"]);
    await edit(page, 1);
    takeAway(page, 1);
    await settle();
    takeAway(page, 1);
    await settle();
    await page.user.keyboard("dd");
    expect(page.sent("delete_cells")).toEqual([]);
  });

  it("also when it is a whole document that comes without it", async () => {
    const page = await open(["a", "b", "c"]);
    const view = await edit(page, 1);
    page.owner.echo = false;
    view.dispatch({ changes: { from: 1, insert: "typed" } });
    page.owner.documents[0]?.cells.splice(1, 1);
    void page.desk.subscribe(page.notebook());
    await settle();
    expect(messages()).toMatch(/is gone.*Copy the text/);
    await page.user.keyboard("dd");
    expect(page.sent("delete_cells")).toEqual([]);
  });

  it("but not when this page removed it", async () => {
    const page = await open(["a", "b", "c"]);
    await edit(page, 1);
    await page.user.keyboard("{Escape}dd");
    await settle();
    expect(page.notebook().halted).toBe(false);
    await page.user.keyboard("dd");
    await settle();
    expect(page.sent("delete_cells")).toHaveLength(2);
  });
});

describe("an owner that started again while somebody types", () => {
  async function restart(page: OpenPage, sources: readonly string[], keys: readonly (string | undefined)[]) {
    const cells = sources.map((source, i) => cellView({ source, ...(keys[i] === undefined ? {} : { key: keys[i] }) }));
    page.owner.documents.splice(0, 1, { id: "d2", status: documentStatus(), cells });
    page.owner.cut();
    page.owner.away = false;
    await vi.waitFor(() => expect(page.desk.link.state).toBe("up"), 10_000);
    await settle();
  }

  it.each(["the same", "other"])("leaves the editor and its caret where they are, under %s names", async (names) => {
    const page = await open(["a", "first\nsecond"]);
    const view = await edit(page, 1);
    view.dispatch({ selection: { anchor: 8 } });
    const keys = page.notebook().cells.map((cell) => (names === "other" ? undefined : cell.key));
    await restart(page, ["a", "first\nsecond"], keys);
    expect(view.dom.isConnected).toBe(true);
    expect(view.state.selection.main.head).toBe(8);
    expect(page.notebook().mode).toBe("edit");
    view.dispatch({ changes: { from: 8, insert: "X" } });
    await vi.waitFor(() => expect(page.owner.documents[0]?.cells[1]?.source).toBe("first\nseXcond"));
    const key = page.owner.documents[0]?.cells[1]?.key ?? "";
    const edits = [{ from: 0, to: 0, insert: "# " }];
    page.owner.patch("d2", { type: "source_edited", cell: key, revision: 9, author: "other", edits });
    await settle();
    expect(view.state.doc.toString()).toBe("# first\nseXcond");
  });

  it("moves the caret with its surroundings where the text is another one", async () => {
    const page = await open(["a", "first\nsecond"]);
    const view = await edit(page, 1);
    view.dispatch({ selection: { anchor: 8 } });
    await restart(page, ["a", "the first\nsecond"], []);
    expect(view.state.doc.toString()).toBe("the first\nsecond");
    expect(view.state.selection.main.head).toBe(12);
  });
});

describe("undo of an insertion", () => {
  function undoing(page: OpenPage): void {
    page.owner.answers = (command) => {
      if (command.type === "paste_cells") {
        const cell = cellView({ source: "pasted" });
        page.owner.patch("d1", { type: "cells_inserted", index: command.index, cells: [cell] });
        return { type: "cells", cells: [cell.key] };
      }
      if (command.type !== "undo") return undefined;
      const key = page.notebook().cells[1]?.key ?? "";
      page.owner.patch("d1", { type: "cells_removed", cells: [key] });
      return { type: "cells", cells: [key] };
    };
  }

  it.each(["b", "cv"])("goes back to the cell that was selected before (%s, then z)", async (keys) => {
    const page = await open(["a", "b", "c"]);
    undoing(page);
    const first = page.notebook().cells[0];
    if (first) page.notebook().select(first);
    await settle();
    for (const key of keys) {
      await page.user.keyboard(key);
      await settle();
    }
    expect(page.notebook().indexOf(page.notebook().active ?? (first as never))).toBe(1);
    await page.user.keyboard("z");
    await settle();
    expect(page.notebook().cells).toHaveLength(3);
    expect(page.notebook().active).toBe(first);
    expect(page.notebook().selection).toEqual([first]);
  });
});
