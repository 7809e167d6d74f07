// The strip under the toolbar says what happened and to which cell, and the keys go on working after it is answered.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { RunState } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, idleRun, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { focusRow, openPage, rows, settle, type OpenPage } from "./page";

function pageOf(
  states: readonly RunState[],
  queue: { running?: number; held?: number; by?: number },
): Promise<OpenPage> {
  const cells = states.map((state, i) =>
    cellView({ source: String(i), execution_count: 40 + i, run: idleRun({ state }) }),
  );
  const key = (index: number | undefined): string | null => (index === undefined ? null : (cells[index]?.key ?? null));
  const held = key(queue.held);
  return openPage(
    new FixtureOwner(workspaceView({ sandboxes: [sandboxView()] }), [
      {
        id: "d1",
        status: documentStatus({ sandbox: "s1" }),
        cells,
        queue: { running: key(queue.running), waiting: [], held: held ? [held] : [], held_by: key(queue.by) },
      },
    ]),
  );
}

const banner = (page: OpenPage): string =>
  page.root.querySelector(".banner")?.textContent?.replace(/\s+/g, " ").trim() ?? "";

describe("cells that are held", () => {
  it.each([
    ["failed", "cell 2 failed"],
    ["stopped", "cell 2 was stopped"],
    ["timed_out", "cell 2 timed out"],
  ] as const)("because one %s are held by its place in the notebook", async (state, words) => {
    const page = await pageOf(["done", state, "held"], { held: 2, by: 1 });
    expect(banner(page)).toMatch(new RegExp(`^1 cell held, ${words}\\.`));
    expect(rows(page)[1]?.getAttribute("aria-label")).toMatch(/^Code cell 2, /);
  });

  it("are held in every place that says so, and queued nowhere", async () => {
    const page = await pageOf(["failed", "held", "held"], { held: 1, by: 0 });
    await new Promise((resolve) => setTimeout(resolve, 200));
    await settle();
    expect(rows(page)[1]?.querySelector(".cell__gutter")?.textContent?.trim()).toBe("held");
    expect(rows(page)[1]?.getAttribute("aria-label")).toBe("Code cell 2, held, not run");
    expect(page.root.querySelector(".side__counts")?.textContent).toContain("2 held");
    expect(page.root.textContent).not.toContain("queued");
  });

  it("give the focus back to the cell once that is answered", async () => {
    const page = await pageOf(["failed", "held"], { held: 1, by: 0 });
    await focusRow(page, 0);
    await page.user.click(screen.getByRole("button", { name: "Clear" }));
    page.owner.patch("d1", { type: "queue", queue: { running: null, waiting: [], held: [], held_by: null } });
    await settle();
    expect(banner(page)).toBe("");
    expect(document.activeElement).toBe(rows(page)[0]);
  });
});

it("an answered question gives the focus back to the cell", async () => {
  const page = await pageOf(["input"], { running: 0 });
  await focusRow(page, 0);
  const cell = page.notebook().cells[0]?.key ?? "";
  page.notebook().asked.add(cell);
  page.owner.patch("d1", { type: "input", input: { cell, prompt: "Name? ", password: false, asked_at: 0 } });
  await settle();
  expect(document.activeElement?.closest(".stdin")).not.toBeNull();
  await page.user.keyboard("Ana{Enter}");
  await settle();
  expect(page.sent("answer_input")).toMatchObject([{ value: "Ana" }]);
  page.owner.patch("d1", { type: "input", input: null });
  await settle();
  expect(document.activeElement).toBe(rows(page)[0]);
});
