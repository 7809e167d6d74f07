// What a person does, and what the owner hears of it.
import { fireEvent, screen, within } from "@testing-library/svelte";
import { undo } from "@codemirror/commands";
import { EditorView } from "@codemirror/view";
import { beforeEach, describe, expect, it, vi } from "vitest";

import { cellView, documentStatus, FixtureOwner, idleRun, recognisedServer, workspaceView } from "./fixture/owner";
import { FRAME, rich, SCENES, text } from "./fixture/scenes";
import { focusRow, type OpenPage, openPage, rows, settle } from "./page";

function ownerOf(sources: readonly string[], status = documentStatus()): FixtureOwner {
  return new FixtureOwner(workspaceView(), [
    { id: "d1", status, cells: sources.map((source) => cellView({ source })) },
  ]);
}

function editor(page: OpenPage): EditorView {
  const dom = page.root.querySelector<HTMLElement>(".cm-editor");
  const view = dom && EditorView.findFromDOM(dom);
  if (!view) throw new Error("no editor");
  return view;
}

describe("keys in command mode", () => {
  let page: OpenPage;
  beforeEach(async () => {
    page = await openPage(ownerOf(["a", "b", "c"]));
    await focusRow(page, 1);
  });

  it("move the selection", async () => {
    await page.user.keyboard("j");
    expect(page.notebook().active?.text).toBe("c");
    await page.user.keyboard("kk");
    expect(page.notebook().active?.text).toBe("a");
    await page.user.keyboard("{Shift>}J{/Shift}");
    expect(page.notebook().selectedCount).toBe(2);
  });

  it("insert, and select what was inserted", async () => {
    await page.user.keyboard("b");
    await settle();
    expect(page.sent("insert_cell")).toMatchObject([{ index: 2, kind: "code" }]);
    expect(page.notebook().active).toBe(page.notebook().cells[2]);
  });

  it("delete with two presses, and offer to undo it", async () => {
    await page.user.keyboard("d");
    expect(page.sent("delete_cells")).toEqual([]);
    await page.user.keyboard("d");
    await settle();
    expect(page.sent("delete_cells")).toHaveLength(1);
    await page.user.click(within(screen.getByRole("region", { name: "Messages" })).getByText("Undo"));
    expect(page.sent("undo")).toHaveLength(1);
  });

  it("undo after the focused row has moved", async () => {
    await page.user.keyboard("{Alt>}{ArrowDown}{/Alt}");
    const order = page.notebook().cells.map((cell) => cell.key);
    page.owner.patch("d1", { type: "cells_reordered", order: [order[0] ?? "", order[2] ?? "", order[1] ?? ""] });
    await settle();
    expect(document.activeElement).toBe(rows(page)[2]);
    await page.user.keyboard("z");
    expect(page.sent("undo")).toHaveLength(1);
  });

  it("undo after every row has gone", async () => {
    await page.user.keyboard("{Control>}a{/Control}dd");
    await settle();
    expect(rows(page)).toEqual([]);
    expect(document.activeElement).toBe(page.root.querySelector(".nb"));
    await page.user.keyboard("z{Shift>}Z{/Shift}");
    await settle();
    expect([page.sent("undo").length, page.sent("redo").length]).toEqual([1, 1]);
  });

  it("change what a cell is", async () => {
    await page.user.keyboard("m");
    await settle();
    expect(page.sent("change_kind")).toMatchObject([{ kind: "markdown" }]);
  });

  it("edit on Enter, and come back on Escape", async () => {
    await page.user.keyboard("{Enter}");
    await settle();
    expect(page.notebook().mode).toBe("edit");
    expect(document.activeElement?.closest(".cm-editor")).not.toBeNull();
    await page.user.keyboard("{Escape}");
    await settle();
    expect(page.notebook().mode).toBe("command");
    expect(document.activeElement).toBe(rows(page)[1]);
  });
});

describe("running", () => {
  it("waits until the owner has what was typed", async () => {
    const owner = ownerOf(["x = 1"]);
    owner.echo = false;
    const page = await openPage(owner);
    const cell = page.notebook().cells[0];
    if (!cell) throw new Error("no cell");
    page.notebook().select(cell, "edit");
    await settle();
    editor(page).dispatch({ changes: { from: 5, insert: "0" } });
    await focusRow(page, 0);
    await page.user.keyboard("{Control>}{Enter}{/Control}");
    await settle();
    expect(page.sent("edit_source")).toMatchObject([{ base_revision: 0, edits: [{ from: 5, to: 5, insert: "0" }] }]);
    expect(page.sent("run")).toEqual([]);
    owner.patch("d1", {
      type: "source_edited",
      cell: cell.key,
      revision: 1,
      author: "page-1",
      edits: [{ from: 5, to: 5, insert: "0" }],
    });
    await settle();
    expect(page.sent("run")).toMatchObject([{ selection: { type: "cells", cells: [cell.key] } }]);
  });

  it("asks where, when the notebook has no sandbox", async () => {
    const owner = ownerOf(["x"]);
    owner.answers = (command) =>
      command.type === "run"
        ? { code: "no_sandbox", message: "No sandbox yet.", hint: "Choose one.", retry: false }
        : undefined;
    const page = await openPage(owner);
    await focusRow(page, 0);
    await page.user.keyboard("{Control>}{Enter}{/Control}");
    await settle();
    expect(screen.getByRole("dialog", { name: "Where should this run?" })).toBeTruthy();
  });

  it("says at each cell why it was not run, until it waits again", async () => {
    const owner = ownerOf(["x"]);
    const page = await openPage(owner);
    const cell = page.notebook().cells[0]?.key ?? "";
    owner.patch("d1", { type: "run", cell, run: idleRun({ not_run: "No kernel was found. Install one." }) });
    await settle();
    expect(screen.getByText("Not run. No kernel was found. Install one.")).toBeTruthy();
    owner.patch("d1", { type: "run", cell, run: idleRun({ state: "queued", place: 1 }) });
    await settle();
    expect(screen.queryByText(/^Not run/)).toBeNull();
  });

  it("goes on to the next cell, and adds one at the end", async () => {
    const page = await openPage(ownerOf(["a", "b"]));
    await focusRow(page, 0);
    await page.user.keyboard("{Shift>}{Enter}{/Shift}");
    await settle();
    expect(page.notebook().active?.text).toBe("b");
    await page.user.keyboard("{Shift>}{Enter}{/Shift}");
    await settle();
    expect(page.notebook().cells).toHaveLength(3);
    expect(page.notebook().mode).toBe("edit");
  });

  it("shows a failure's sentence and what to do next", async () => {
    const owner = ownerOf(["x"]);
    owner.answers = (command) =>
      command.type === "run"
        ? { code: "kernel_died", message: "The kernel died.", hint: "Start it again.", retry: true }
        : undefined;
    const page = await openPage(owner);
    await focusRow(page, 0);
    await page.user.keyboard("{Control>}{Enter}{/Control}");
    await settle();
    expect(screen.getByRole("region", { name: "Messages" }).textContent).toMatch(/The kernel died.\s+Start it again./);
  });

  it("takes back what it said of a failure once the same succeeds", async () => {
    const owner = ownerOf(["x"]);
    let fails = true;
    owner.answers = (command) =>
      command.type === "undo" && fails
        ? { code: "internal", message: "It broke.", hint: "Again.", retry: true }
        : undefined;
    const page = await openPage(owner);
    const messages = () => screen.getByRole("region", { name: "Messages" }).textContent;
    await focusRow(page, 0);
    await page.user.keyboard("z");
    await settle();
    expect(messages()).toContain("It broke.");
    fails = false;
    await page.user.keyboard("z");
    await settle();
    expect(messages()).not.toContain("It broke.");
  });
});

describe("an open editor", () => {
  it("takes in what somebody else types, and keeps its own undo history", async () => {
    const page = await openPage(ownerOf(["abc"]));
    const cell = page.notebook().cells[0];
    if (!cell) throw new Error("no cell");
    page.notebook().select(cell, "edit");
    await settle();
    page.owner.patch("d1", {
      type: "source_edited",
      cell: cell.key,
      revision: 1,
      author: "other",
      edits: [{ from: 0, to: 0, insert: "# " }],
    });
    await settle();
    expect(editor(page).state.doc.toString()).toBe("# abc");
    expect(page.sent("edit_source")).toEqual([]);
  });

  it("takes back what this person typed, and nothing that somebody else did", async () => {
    const page = await openPage(ownerOf(["abc"]));
    const cell = page.notebook().cells[0];
    if (!cell) throw new Error("no cell");
    page.notebook().select(cell, "edit");
    await settle();
    editor(page).dispatch({ changes: { from: 3, insert: "d" } });
    await settle();
    const edits = [{ from: 0, to: 0, insert: "# " }];
    page.owner.patch("d1", { type: "source_edited", cell: cell.key, revision: 2, author: "other", edits });
    await settle();
    expect(undo(editor(page))).toBe(true);
    expect(editor(page).state.doc.toString()).toBe("# abc");
    expect(undo(editor(page))).toBe(false);
  });
});

function everythingIsNear(): void {
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(private readonly call: (entries: unknown[]) => void) {}
      observe(target: Element) {
        this.call([{ isIntersecting: true, target }]);
      }
      unobserve() {}
      disconnect() {}
    },
  );
}

describe("outputs", () => {
  it("that can run stand in a frame without an origin", async () => {
    const owner = ownerOf([]);
    owner.documents[0]?.cells.push(
      cellView({ source: "x", outputs: [rich("text/html", "<b>hi</b>", { framed: true })] }),
    );
    everythingIsNear();
    const page = await openPage(owner);
    const frame = page.root.querySelector("iframe");
    expect(frame?.getAttribute("sandbox")).toBe("allow-scripts");
    expect(frame?.hasAttribute("srcdoc")).toBe(false);
    expect(page.root.querySelector(".cell__out b")).toBeNull();
    vi.unstubAllGlobals();
  });

  it("that are a large table are fetched when they come near, and drawn by the page", async () => {
    const owner = ownerOf([]);
    const cell = (resource: string) =>
      cellView({
        source: "x",
        outputs: [rich("text/html", null, { framed: true, table: true, size: 200_000, resource })],
      });
    owner.documents[0]?.cells.push(cell("table"), cell("styled"));
    owner.answers = (command) => {
      if (command.type !== "resource_text") return undefined;
      return { type: "text", text: command.resource === "table" ? FRAME : `${FRAME}<script>1</script>` };
    };
    everythingIsNear();
    const page = await openPage(owner);
    expect(page.sent("resource_text").map((command) => command.resource)).toEqual(["table", "styled"]);
    const [table, styled] = rows(page);
    expect(table?.querySelector("table.df")?.textContent).toContain("humidity");
    expect(table?.querySelector("iframe")).toBeNull();
    expect(styled?.querySelector("iframe")).not.toBeNull();
    vi.unstubAllGlobals();
  });

  it("believe a height only from their own frame", async () => {
    const page = await openPage(ownerOf([]));
    window.dispatchEvent(
      new MessageEvent("message", { data: { type: "sandbook-output-height", height: 5000 }, source: window }),
    );
    await settle();
    expect(page.root.querySelector('[style*="5000px"]')).toBeNull();
  });

  it("ask the owner for more of a long text", async () => {
    const owner = ownerOf([]);
    const output = text("a\nb\nc\nd\nx\ny\nz", 1000);
    owner.documents[0]?.cells.push(cellView({ source: "x", outputs: [output] }));
    owner.answers = (command) =>
      command.type === "output_lines"
        ? { type: "lines", slice: { from: 4, lines: [{ text: "more", hidden: 0, next: 0 }], total_lines: 1000 } }
        : undefined;
    const page = await openPage(owner);
    expect(page.root.textContent).toContain("993 lines folded");
    await page.user.click(screen.getByText("Show 200 more"));
    await settle();
    expect(page.sent("output_lines")).toMatchObject([{ output: output.id, from: 4, count: 200 }]);
    expect(page.root.textContent).toContain("992 lines folded");
  });

  it("mask a password, and hand it to nobody but the kernel", async () => {
    const make = SCENES.outputs;
    const owner = make?.();
    if (!owner) throw new Error("no scene");
    const document_ = owner.documents[0];
    if (document_)
      owner.documents[0] = { ...document_, input: { cell: "ask", prompt: "Token: ", password: true, asked_at: 0 } };
    const page = await openPage(owner);
    const field = page.root.querySelector<HTMLInputElement>(".stdin input");
    expect(field?.type).toBe("password");
    if (field) await page.user.type(field, "s3cret{Enter}");
    expect(page.sent("answer_input")).toMatchObject([{ value: "s3cret" }]);
    expect(page.root.innerHTML).not.toContain("s3cret");
  });
});

describe("a cut from the owner", () => {
  it("is mended by itself, and what was typed meanwhile arrives", async () => {
    const page = await openPage(ownerOf(["a"]));
    const cell = page.notebook().cells[0];
    if (!cell) throw new Error("no cell");
    page.owner.cut();
    await settle(2);
    expect(page.root.querySelector(".status")?.textContent).toContain("No contact");
    cell.replace("ab");
    page.desk.pump(page.notebook(), cell);
    page.owner.away = false;
    await vi.waitFor(() => expect(page.desk.link.state).toBe("up"), 10_000);
    await settle();
    await vi.waitFor(() => expect(page.owner.documents[0]?.cells[0]?.source).toBe("ab"));
  });
});

describe("a kernel that died", () => {
  it("is told with what the code said last, whatever it said, and without what the owner says of it", async () => {
    const owner = SCENES.died?.();
    const cell = owner?.documents[0]?.cells[0];
    if (!owner || !cell) throw new Error("no scene");
    const said = text("[The kernel died in my dream.]");
    const told = text("[The kernel died (SIGKILL). Restart the kernel.]");
    if (told.body.type === "text") told.body = { ...told.body, stream: "owner" };
    cell.run = idleRun({ state: "failed", started_at: 1, ran_revision: 0 });
    owner.documents[0]?.cells.splice(1);
    cell.outputs = [said, told];
    const page = await openPage(owner);
    const log = page.root.querySelector(".pm__log")?.textContent ?? "";
    expect(log).toContain("in my dream");
    expect(log).not.toContain("SIGKILL");
  });
});

describe("pasting an address", () => {
  it("never paints the secret", async () => {
    const owner = new FixtureOwner(workspaceView());
    owner.answers = (command) =>
      command.type === "read_pasted" ? { type: "recognised", recognised: recognisedServer } : undefined;
    const page = await openPage(owner);
    await page.user.click(screen.getByLabelText("Paste anything"));
    await page.user.paste("http://h:8888/lab?token=abc123");
    await settle();
    expect(page.sent("read_pasted")).toHaveLength(1);
    expect(document.documentElement.innerHTML).not.toContain("abc123");
    expect(page.root.querySelector(".secret")?.textContent).toBe("hidden");
    await page.user.click(screen.getByRole("button", { name: /Connect/ }));
    expect(page.sent("connect")).toMatchObject([{ pasted: "p1", token: null }]);
  });
});

describe("empty places", () => {
  it("say what would be there", async () => {
    const page = await openPage(new FixtureOwner(workspaceView()));
    expect(page.root.textContent).toContain("Nothing opened yet.");
    expect(page.root.textContent).toContain("No servers yet.");
    expect(page.root.textContent).toContain("Nothing is running, nothing costs money.");
  });

  it("and nothing stands on the rail that has nothing behind it", async () => {
    const page = await openPage(ownerOf(["x"]));
    const rail = page.root.querySelector(".rail");
    expect(
      within(rail as HTMLElement)
        .getAllByRole("tab")
        .map((tab) => tab.textContent?.trim()),
    ).toEqual(["Outline", "Runtimes", "Settings"]);
  });
});

describe("the gutter of a running cell", () => {
  it("ticks", async () => {
    const owner = ownerOf([]);
    owner.documents[0]?.cells.push(
      cellView({ source: "x", run: idleRun({ state: "running", started_at: Date.now() - 65_000 }) }),
    );
    const page = await openPage(owner);
    expect(page.root.querySelector(".cell__gutter")?.textContent).toMatch(/running\s*1:0\d/);
  });
});

describe("a text that the kernel puts for a new cell", () => {
  it("becomes a cell on the page that ran the code, and on no other", async () => {
    const page = await openPage(ownerOf(["%load x.py"]));
    const key = page.notebook().cells[0]?.key ?? "";
    page.owner.patch("d1", { type: "next_input", cell: key, text: "loaded" });
    await settle();
    expect(page.sent("insert_cell")).toEqual([]);
    await focusRow(page, 0);
    await page.user.keyboard("{Control>}{Enter}{/Control}");
    await settle();
    page.owner.patch("d1", { type: "next_input", cell: key, text: "loaded" });
    await settle();
    expect(page.sent("insert_cell")).toMatchObject([{ index: 1, source: "loaded" }]);
  });
});

describe("what is read aloud", () => {
  it("is that a cell has ended, and how", async () => {
    const page = await openPage(ownerOf(["x"]));
    const key = page.notebook().cells[0]?.key ?? "";
    page.owner.patch("d1", { type: "run", cell: key, run: idleRun({ state: "running", started_at: Date.now() }) });
    page.owner.patch("d1", { type: "run", cell: key, run: idleRun({ state: "failed", duration_ms: 40 }) });
    await settle();
    expect(screen.getByRole("status", { name: "" }).textContent).toContain("failed, 0.04 seconds");
  });
});

describe("a cell that does not stop", () => {
  it("can be killed after five seconds, with what is lost said", async () => {
    const owner = ownerOf(["while True: pass"]);
    const page = await openPage(owner);
    const key = page.notebook().cells[0]?.key ?? "";
    owner.patch("d1", { type: "queue", queue: { running: key, waiting: [], held: [], held_by: null } });
    await focusRow(page, 0);
    vi.useFakeTimers({ shouldAdvanceTime: true });
    await page.user.keyboard("ii");
    await vi.advanceTimersByTimeAsync(5200);
    vi.useRealTimers();
    await settle();
    const messages = screen.getByRole("region", { name: "Messages" });
    expect(messages.textContent).toContain("all variables are lost");
    await page.user.click(within(messages).getByText("Kill"));
    await settle();
    expect(page.sent("restart")).toHaveLength(1);
  });
});

describe("many tabs", () => {
  it("keep the shown one in view, and turn with the wheel", async () => {
    const seen: string[] = [];
    vi.spyOn(Element.prototype, "scrollIntoView").mockImplementation(function (this: Element) {
      if (this.role === "tab" || this.getAttribute("role") === "tab") seen.push(this.textContent?.trim() ?? "");
    });
    const page = await openPage(SCENES.tabs?.() ?? ownerOf([]));
    const strip = screen.getByRole("tablist", { name: "Open documents" });
    page.desk.tab = "t3";
    await settle(2);
    expect(seen.at(-1)).toContain("bike-demand-4.ipynb");
    within(strip).getByRole("tab", { selected: true }).focus();
    await page.user.keyboard("{End}");
    await settle(2);
    expect(seen.at(-1)).toContain("bike-demand-15.ipynb");
    await fireEvent.wheel(strip, { deltaY: 120 });
    expect(strip.scrollLeft).toBe(120);
    expect(within(strip).getAllByRole("tab")[0]?.title).toBe("bike-demand-1.ipynb");
  });
});
