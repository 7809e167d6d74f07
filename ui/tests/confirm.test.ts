// Every answer to a question does what its button says.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { Overlay } from "../src/state/workbench.svelte";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

async function ask(overlay: Overlay, path: string | null = "/home/ana/a.ipynb"): Promise<OpenPage> {
  const page = await openPage(
    new FixtureOwner(workspaceView({ sandboxes: [sandboxView()] }), [
      { id: "d1", status: documentStatus({ path, dirty: true, sandbox: "s1" }), cells: [cellView({ source: "x" })] },
    ]),
  );
  page.desk.overlay = overlay;
  await settle();
  return page;
}

async function answer(page: OpenPage, label: string): Promise<void> {
  await page.user.click(screen.getByRole("button", { name: label }));
  await settle();
}

describe("the answer to a question", () => {
  it.each([
    [{ kind: "close", notebook: "d1" }, "Discard changes", { type: "close_document", discard: true }],
    [{ kind: "close", notebook: "d1" }, "Close, keep changes", { type: "close_document", discard: false }],
    [{ kind: "close", notebook: "d1" }, "Save and close", { type: "save", path: null }],
    [{ kind: "restart", runAll: true }, "Restart and run all", { type: "restart", run_all: true }],
    [{ kind: "restart", runAll: false }, "Restart", { type: "restart", run_all: false }],
    [{ kind: "stop-sandbox", sandbox: "s1" }, "Stop the sandbox", { type: "stop_sandbox", sandbox: "s1" }],
  ] as const)("%o: %s", async (overlay, label, command) => {
    const page = await ask(overlay);
    await answer(page, label);
    expect(page.owner.received).toContainEqual(expect.objectContaining(command));
    expect(page.desk.overlay).toBeNull();
  });

  it("can be another question: where to save a notebook that has no file", async () => {
    const page = await ask({ kind: "close", notebook: "d1" }, null);
    await answer(page, "Save and close");
    expect(page.desk.overlay).toMatchObject({ kind: "save-as" });
  });
});

it("a question with many answers has room for them", async () => {
  await ask({ kind: "close", notebook: "d1" });
  const dialog = screen.getByRole("alertdialog");
  expect(dialog.querySelectorAll("button")).toHaveLength(4);
  expect(parseInt(dialog.style.width)).toBeGreaterThanOrEqual(620);
});
