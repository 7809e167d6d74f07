import { describe, expect, it } from "vitest";

import type { DocumentSnapshot, Patch } from "../src/platform";
import { lookOf } from "../src/state/cell.svelte";
import { Gap, Notebook } from "../src/state/notebook.svelte";
import { cellView, documentStatus, idleRun, SELF } from "./fixture/owner";
import { line, text } from "./fixture/scenes";

const queue = { running: null, waiting: [], held: [], held_by: null };

function open(count: number): Notebook {
  const cells = Array.from({ length: count }, (_, i) => cellView({ key: `k${i}`, source: `x${i}` }));
  const snapshot: DocumentSnapshot = {
    document: "d",
    sequence: 5,
    status: documentStatus(),
    cells,
    queue,
    input: null,
  };
  const notebook = new Notebook("d", snapshot.status);
  notebook.load(snapshot);
  return notebook;
}

let sequence = 5;
const apply = (notebook: Notebook, ...patches: Patch[]) =>
  notebook.apply({ document: "d", sequence: ++sequence, patches }, SELF);
const keys = (notebook: Notebook): string[] => notebook.cells.map((cell) => cell.key);

describe("patches", () => {
  it("move through the document in their order, and a missing one is noticed", () => {
    sequence = 5;
    const notebook = open(2);
    apply(notebook, { type: "cells_removed", cells: ["k0"] });
    expect(keys(notebook)).toEqual(["k1"]);
    expect(() => notebook.apply({ document: "d", sequence: 9, patches: [] }, SELF)).toThrow(Gap);
    expect(
      notebook.apply({ document: "d", sequence: 6, patches: [{ type: "cells_removed", cells: ["k1"] }] }, SELF),
    ).toEqual([]);
    expect(keys(notebook)).toEqual(["k1"]);
  });

  it("insert, reorder and remove cells, which stay the same objects", () => {
    sequence = 5;
    const notebook = open(3);
    const [first] = notebook.cells;
    apply(notebook, { type: "cells_inserted", index: 1, cells: [cellView({ key: "n" })] });
    apply(notebook, { type: "cells_reordered", order: ["n", "k2", "k1", "k0"] });
    expect(keys(notebook)).toEqual(["n", "k2", "k1", "k0"]);
    expect(notebook.cells.at(-1)).toBe(first);
  });

  it("grow a text: the first lines stay, the new ones follow, the tail is replaced", () => {
    sequence = 5;
    const notebook = open(1);
    apply(notebook, { type: "outputs_appended", cell: "k0", outputs: [{ ...text("a\nb\nc"), id: "t" }] });
    apply(notebook, {
      type: "text_changed",
      cell: "k0",
      output: "t",
      keep: 2,
      append: [line("C"), line("d")],
      tail: [],
      total_lines: 4,
      total_bytes: 7,
    });
    const body = notebook.cell("k0")?.outputs[0]?.body;
    expect(body?.type === "text" && body.text.head.map((l) => l.text)).toEqual(["a", "b", "C", "d"]);
    expect(body?.type === "text" && body.text.total_lines).toBe(4);
  });

  it("touch only the output they name", () => {
    sequence = 5;
    const notebook = open(1);
    apply(notebook, {
      type: "outputs_replaced",
      cell: "k0",
      outputs: [
        { ...text("a"), id: "1" },
        { ...text("b"), id: "2" },
      ],
    });
    const [one, two] = notebook.cell("k0")?.outputs ?? [];
    const before = one?.body;
    apply(notebook, { type: "output_changed", cell: "k0", output: { ...text("B"), id: "2" } });
    expect(notebook.cell("k0")?.outputs[1]).toBe(two);
    expect(one?.body).toBe(before);
  });

  it("that name an unknown cell are passed over", () => {
    sequence = 5;
    const notebook = open(1);
    expect(() => apply(notebook, { type: "run", cell: "gone", run: idleRun() })).not.toThrow();
  });

  it("acknowledge the page's own edit and bring in those of others", () => {
    sequence = 5;
    const notebook = open(1);
    const cell = notebook.cells[0];
    if (!cell) throw new Error("no cell");
    cell.replace("x0!");
    expect(cell.takeEdits()).toEqual({ base: 0, edits: [{ from: 2, to: 2, insert: "!" }] });
    apply(notebook, {
      type: "source_edited",
      cell: "k0",
      revision: 1,
      author: "other",
      edits: [{ from: 0, to: 0, insert: "# " }],
    });
    expect(cell.text).toBe("# x0!");
    const effects = apply(notebook, {
      type: "source_edited",
      cell: "k0",
      revision: 2,
      author: SELF,
      edits: [{ from: 4, to: 4, insert: "!" }],
    });
    expect(effects).toEqual([{ type: "acknowledged", cell }]);
    expect(cell.source).toMatchObject({ revision: 2, sent: null, unsent: null });
  });
});

describe("a snapshot after a gap", () => {
  it("keeps cells that are still there, and what was typed in them", () => {
    const notebook = open(2);
    const cell = notebook.cells[1];
    if (!cell) throw new Error("no cell");
    cell.replace("typed");
    notebook.load({
      document: "d",
      sequence: 40,
      status: documentStatus(),
      cells: [cellView({ key: "k1", source: "x1", revision: 9 })],
      queue,
      input: null,
    });
    expect(notebook.cells).toEqual([cell]);
    expect(cell.text).toBe("typed");
    expect(cell.takeEdits()?.base).toBe(9);
  });
});

describe("selection", () => {
  it("follows the document: when the selected cell goes, its neighbour is selected", () => {
    sequence = 5;
    const notebook = open(3);
    const middle = notebook.cells[1];
    if (middle) notebook.select(middle, "edit");
    apply(notebook, { type: "cells_removed", cells: ["k1"] });
    expect(notebook.active?.key).toBe("k2");
    expect(notebook.mode).toBe("command");
  });

  it("extends from its anchor, in both directions", () => {
    const notebook = open(5);
    const at = (i: number) => {
      const cell = notebook.cells[i];
      if (!cell) throw new Error("no cell");
      return cell;
    };
    notebook.select(at(2));
    notebook.extendTo(at(4));
    expect(notebook.selection.map((cell) => cell.key)).toEqual(["k2", "k3", "k4"]);
    notebook.extendTo(at(1));
    expect(notebook.selection.map((cell) => cell.key)).toEqual(["k1", "k2"]);
  });
});

describe("what a cell's gutter says", () => {
  it.each([
    [idleRun(), null, false, false, "new"],
    [idleRun(), 3, false, true, "done"],
    [idleRun({ state: "done" }), 3, true, true, "edited"],
    [idleRun({ state: "failed" }), 3, false, true, "error"],
    [idleRun({ state: "held" }), null, false, false, "held"],
    [idleRun({ state: "running" }), null, true, false, "running"],
    [idleRun({ state: "timed_out" }), null, false, true, "stopped"],
    [idleRun({ state: "no_signal" }), null, false, true, "nosignal"],
    [idleRun({ state: "lost" }), 3, true, true, "lost"],
  ] as const)("comes from run, number and edits (%#)", (run, count, edited, outputs, look) => {
    expect(lookOf(run, count, edited, outputs)).toBe(look);
  });
});

describe("a cell whose text is another than the one that ran", () => {
  function ran(): Notebook {
    sequence = 5;
    const notebook = open(1);
    apply(notebook, { type: "run", cell: "k0", run: idleRun({ state: "done", ran_revision: 0 }) });
    return notebook;
  }
  const typed = (notebook: Notebook, revision: number, from: number, to: number, insert: string): void => {
    apply(notebook, { type: "source_edited", cell: "k0", revision, author: "other", edits: [{ from, to, insert }] });
  };

  it("is edited, until the text is what ran again", () => {
    const notebook = ran();
    const [cell] = notebook.cells;
    expect(cell?.look).toBe("done");
    typed(notebook, 1, 2, 2, "!");
    expect(cell?.look).toBe("edited");
    typed(notebook, 2, 2, 3, "");
    expect(cell?.look).toBe("done");
  });

  it("is edited as soon as somebody types here, before the owner knows", () => {
    const [cell] = ran().cells;
    cell?.replace("x0!");
    expect(cell?.look).toBe("edited");
    cell?.replace("x0");
    expect(cell?.look).toBe("done");
  });

  it("is edited by its revision, where this page never saw what ran", () => {
    sequence = 5;
    const notebook = open(1);
    typed(notebook, 1, 2, 2, "!");
    apply(notebook, { type: "run", cell: "k0", run: idleRun({ state: "done", ran_revision: 0 }) });
    expect(notebook.cells[0]?.look).toBe("edited");
  });
});
