// Keys and the voice go where the person is, also when something goes away under them.
import { fireEvent, screen } from "@testing-library/svelte";
import { expect, it } from "vitest";

import { trapFocus } from "../src/parts/focus";
import { dragSize } from "../src/shell/resize";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, rows, settle, type OpenPage } from "./page";

const open = (): Promise<OpenPage> =>
  openPage(
    new FixtureOwner(workspaceView(), [
      { id: "d1", status: documentStatus(), cells: [cellView({ source: "cat" }), cellView({ source: "cat" })] },
    ]),
  );

it("Esc closes find from each of its controls", async () => {
  const page = await open();
  for (const name of ["Next match", "Match case", "Replace all", "Close find"]) {
    page.desk.find.show(true);
    page.desk.find.query = "cat";
    await new Promise((resolve) => setTimeout(resolve, 200));
    await settle();
    screen.getByRole("button", { name }).focus();
    await page.user.keyboard("{Escape}");
    await settle();
    expect(screen.queryByRole("search"), name).toBeNull();
    expect(document.activeElement, name).toBe(rows(page)[0]);
  }
});

it("find says where it is when somebody goes there, and no count talks by itself", async () => {
  const page = await open();
  page.desk.find.show(false);
  page.desk.find.query = "cat";
  await new Promise((resolve) => setTimeout(resolve, 200));
  await settle();
  expect(page.desk.announcer.polite).toBe("1 of 2");
  expect(page.root.querySelector(".find__n")?.closest("[aria-live]")).toBeNull();
});

it("a dialog whose opener is gone gives the focus to the notebook", async () => {
  const page = await open();
  const opener = document.body.appendChild(document.createElement("button"));
  const dialog = document.body.appendChild(document.createElement("div"));
  dialog.tabIndex = -1;
  opener.focus();
  const trap = trapFocus(dialog, { onclose: () => undefined });
  await settle();
  expect(document.activeElement).toBe(dialog);
  opener.remove();
  dialog.remove();
  if (trap) trap.destroy?.();
  await settle();
  expect(document.activeElement).toBe(rows(page)[0]);
});

it("an edge stops following the pointer however the drag ends", () => {
  const edge = document.body.appendChild(document.createElement("div"));
  edge.setPointerCapture = () => undefined;
  let size = 100;
  dragSize(
    "x",
    1,
    () => size,
    (next) => (size = next),
  )(edge);
  void fireEvent.pointerDown(edge, { clientX: 0 });
  void fireEvent.pointerMove(edge, { clientX: 30 });
  expect(size).toBe(130);
  void fireEvent(edge, new Event("lostpointercapture"));
  void fireEvent.pointerMove(edge, { clientX: 90 });
  expect(size).toBe(130);
});
