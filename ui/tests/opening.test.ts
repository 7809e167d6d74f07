// A page that was opened for a notebook: what it asks for, and what it shows meanwhile.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, rows, settle } from "./page";

const PATH = "/home/ana/a b.ipynb";

function owner(open: boolean): FixtureOwner {
  const status = documentStatus({ path: PATH });
  const made = new FixtureOwner(workspaceView(), [{ id: "d1", status, cells: [cellView({ source: "a" })] }]);
  made.answers = (command) => {
    if (command.type === "list_documents" && !open) return { type: "documents", documents: [] };
    return command.type === "open_document" ? { type: "document", document: "d1", status } : undefined;
  };
  return made;
}

describe("a page that was opened for a notebook", () => {
  beforeEach(() => history.replaceState(null, "", `/?open=${encodeURIComponent(PATH)}`));
  afterEach(() => history.replaceState(null, "", "/"));

  it("asks for it together with everything else that it asks for first", async () => {
    const asked = owner(false);
    for (const silent of ["watch_workspace", "list_documents", "open_document"] as const) asked.silent.add(silent);
    const page = await openPage(asked);
    expect(asked.received.map((command) => command.type)).toEqual(
      expect.arrayContaining(["watch_workspace", "list_documents", "open_document"]),
    );
    expect(page.sent("open_document")).toMatchObject([{ path: PATH }]);
  });

  it("draws no start screen that goes again", async () => {
    const asked = owner(false);
    asked.silent.add("open_document");
    const page = await openPage(asked);
    expect(page.root.querySelector(".start")).toBeNull();
    expect(page.desk.opening).toBe(true);
  });

  it.each([
    ["no", false],
    ["a", true],
  ])("shows it, once, where %s notebook is open already", async (_, open) => {
    const page = await openPage(owner(open));
    expect(page.desk.tab).toBe("d1");
    expect(rows(page)).toHaveLength(1);
    expect(page.sent("subscribe")).toHaveLength(1);
  });

  it("shows why it cannot, and the start screen is there again", async () => {
    const asked = owner(false);
    asked.answers = (command) =>
      command.type === "open_document"
        ? { code: "not_a_notebook", message: "That is no notebook.", hint: "Open another.", retry: false }
        : command.type === "list_documents"
          ? { type: "documents", documents: [] }
          : undefined;
    const page = await openPage(asked);
    await settle();
    expect(page.desk.tab).toBe("unreadable");
    page.desk.tab = "start";
    await settle();
    expect(page.root.querySelector(".start")).not.toBeNull();
  });

  it("does not open it again when the page is drawn anew", async () => {
    await openPage(owner(false));
    await settle();
    expect(location.search).toBe("");
  });
});
