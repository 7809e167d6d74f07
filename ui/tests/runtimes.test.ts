// Choosing where a notebook runs, beside servers: every runtime of the owner is one row.

import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";
import { aboutOf, canStart, grantOf, startOf } from "../src/connect/runtime";
import type { RuntimeView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { focusRow, openPage, settle } from "./page";

const plain: RuntimeView = {
  kind: "eval",
  title: "Plain Python",
  mark: "Ev",
  readiness: { state: "ready", reason: "Python 3.12 (.venv)" },
  isolation: { name: "isolation", state: "no", note: "None." },
  kernels: [],
};

const jupyter: RuntimeView = {
  ...plain,
  kind: "jupyter",
  kernels: [{ name: "python:/p", display_name: "Python 3.12", language: "python", origin: "/p" }],
};

const monty: RuntimeView = {
  ...plain,
  kind: "monty",
  title: "Monty",
  mark: "Mt",
  isolation: { name: "isolation", state: "yes", note: "No files." },
};

/** The dialog, because a cell was to run and nobody had said where. */
async function askedWhere(...runtimes: RuntimeView[]): ReturnType<typeof openPage> {
  const owner = new FixtureOwner(workspaceView({ runtimes: [{ ...jupyter, kernels: [] }, ...runtimes] }), [
    { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
  ]);
  owner.answers = (command) =>
    command.type === "run" ? { code: "no_sandbox", message: "", hint: "", retry: false } : undefined;
  const page = await openPage(owner);
  await focusRow(page, 0);
  await page.user.keyboard("{Control>}{Enter}{/Control}");
  await settle();
  return page;
}

describe("a runtime as a choice", () => {
  it("is its first kernel for Jupyter, and a new sandbox for every other one", () => {
    expect(startOf(jupyter)).toEqual({ type: "kernel_here", kernel: "python:/p" });
    expect(startOf(plain)).toEqual({ type: "new", runtime: "eval", settings: null });
  });

  it("can be started with one click when it is ready", () => {
    expect(canStart(plain)).toBe(true);
    expect(canStart({ ...plain, readiness: { state: "needs_setup", reason: "no Python" } })).toBe(false);
    expect(canStart({ ...jupyter, kernels: [] })).toBe(false);
  });

  it("can be given the notebook's folder where it sees no files by itself", () => {
    expect(grantOf(plain)).toBeNull();
    expect(grantOf(monty)).toEqual({ type: "new", runtime: "monty", settings: { folder: "write" } });
  });

  it("says that it is not isolated", () => {
    expect(aboutOf(plain)).toBe("not isolated, Python 3.12 (.venv)");
    expect(aboutOf({ ...plain, isolation: { name: "isolation", state: "yes", note: "" } })).toBe("Python 3.12 (.venv)");
  });
});

describe("the dialog that asks where", () => {
  it("offers a plain Python as not isolated, and starts it", async () => {
    const page = await askedWhere(plain);
    const row = within(screen.getByRole("dialog")).getByRole("button", { name: /Plain Python/ });
    expect(row.textContent).toContain("not isolated");
    await page.user.click(row);
    await settle();
    expect(page.sent("choose_sandbox")).toMatchObject([{ choice: { type: "new", runtime: "eval", settings: null } }]);
  });

  it.each([
    ["no files", 0, null],
    ["the notebook's folder where that is chosen", 1, { folder: "write" }],
  ])("grants Monty %s", async (_, row, settings) => {
    const page = await askedWhere(plain, monty);
    const offered = within(screen.getByRole("dialog")).getAllByRole("button", { name: /Monty/ });
    expect(offered).toHaveLength(2);
    await page.user.click(offered[row] as HTMLElement);
    await settle();
    expect(page.sent("choose_sandbox")).toMatchObject([{ choice: { type: "new", runtime: "monty", settings } }]);
  });
});
