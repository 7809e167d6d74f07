// Saving under another name never writes over a file that the person was not asked about.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, settle, type OpenPage } from "./page";

async function saveDialog(entries: readonly string[], exists: readonly string[] = entries): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView(), [
    { id: "d1", status: documentStatus({ path: "/home/ana/own.ipynb" }), cells: [cellView({ source: "x" })] },
  ]);
  owner.answers = (command) => {
    if (command.type === "list_folder") {
      const files = entries.map((name) => ({ name, folder: false, size: 1, modified_at: 0 }));
      return { type: "folder", folder: { path: "/home/ana", parent: "/home", entries: files } };
    }
    const taken = exists.map((name) => `/home/ana/${name}`);
    if (command.type === "save" && command.choice === "ask" && command.path && taken.includes(command.path))
      return { code: "changed_on_disk", message: "There is another file.", hint: "", retry: false };
    return undefined;
  };
  const page = await openPage(owner);
  page.desk.overlay = { kind: "save-as", resource: null, name: "" };
  await settle();
  return page;
}

async function saveAs(page: OpenPage, name: string): Promise<void> {
  const field = screen.getByRole("textbox", { name: "File name" });
  await page.user.clear(field);
  await page.user.type(field, `${name}{Enter}`);
  await settle();
}

describe("saving under another name", () => {
  it("asks before it replaces a notebook, though its ending was not typed", async () => {
    const page = await saveDialog(["other.ipynb"]);
    await saveAs(page, "other");
    expect(page.sent("save")).toEqual([]);
    expect(screen.getByRole("alertdialog", { name: "Replace other.ipynb?" })).toBeTruthy();
    await page.user.click(screen.getByRole("button", { name: "Replace the file" }));
    await settle();
    expect(page.sent("save")).toMatchObject([{ path: "/home/ana/other.ipynb", choice: "keep_mine" }]);
    expect(page.desk.overlay).toBeNull();
  });

  it("asks when only the owner knows of the other file", async () => {
    const page = await saveDialog([], ["hidden.ipynb"]);
    await saveAs(page, "hidden");
    expect(page.sent("save")).toMatchObject([{ choice: "ask" }]);
    expect(screen.getByRole("alertdialog", { name: "Replace hidden.ipynb?" })).toBeTruthy();
  });

  it("goes back to the name when the person does not want it", async () => {
    const page = await saveDialog(["other.ipynb"]);
    await saveAs(page, "other.ipynb");
    await page.user.keyboard("{Escape}");
    await settle();
    expect(screen.queryByRole("alertdialog")).toBeNull();
    expect(screen.getByRole("dialog", { name: "Save the notebook" })).toBeTruthy();
    expect(page.sent("save")).toEqual([]);
  });

  it("asks nothing for a new name, nor for the notebook's own", async () => {
    const page = await saveDialog(["own.ipynb"]);
    await saveAs(page, "new");
    expect(page.sent("save")).toMatchObject([{ path: "/home/ana/new.ipynb", choice: "ask" }]);
    page.desk.overlay = { kind: "save-as", resource: null, name: "" };
    await settle();
    await saveAs(page, "own");
    expect(page.sent("save")[1]).toMatchObject({ path: null, choice: "ask" });
    expect(page.desk.overlay).toBeNull();
  });
});
