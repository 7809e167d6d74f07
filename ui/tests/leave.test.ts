// Nothing that runs is stopped by closing or moving its notebook, unless the person says so.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { SandboxView } from "../src/platform";
import { chooseSandbox, close } from "../src/state/actions";
import { cellView, documentStatus, FixtureOwner, idleRun, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

async function running(part: Partial<SandboxView> = {}, busy = true): Promise<OpenPage> {
  const [first, second] = [
    cellView({ run: idleRun({ state: busy ? "running" : "done" }) }),
    cellView({ run: idleRun({ state: busy ? "queued" : "done" }) }),
  ];
  const queue = busy
    ? { running: first.key, waiting: [second.key], held: [], held_by: null }
    : { running: null, waiting: [], held: [], held_by: null };
  const page = await openPage(
    new FixtureOwner(workspaceView({ sandboxes: [sandboxView({ documents: ["d1"], owned: true, ...part })] }), [
      { id: "d1", status: documentStatus({ sandbox: "s1" }), cells: [first, second], queue },
    ]),
  );
  close(page.desk, page.notebook());
  await settle();
  return page;
}

describe("closing a notebook whose cells run", () => {
  it("asks, and says what is lost", async () => {
    const page = await running();
    expect(page.sent("close_document")).toEqual([]);
    const question = screen.getByRole("alertdialog", { name: /Close .* while cells run/ });
    expect(question.textContent).toMatch(/Cell 1 is running and 1 cell waits in the queue/);
    expect(question.textContent).toMatch(/you lose all variables/);
    await page.user.click(screen.getByRole("button", { name: "Cancel" }));
    await settle();
    expect(page.sent("close_document")).toEqual([]);
  });

  it("keeps the sandbox before it closes, when told to", async () => {
    const page = await running();
    await page.user.click(screen.getByRole("button", { name: "Keep it running, close" }));
    await settle();
    const types = page.owner.received.map((command) => command.type);
    expect(page.sent("keep_sandbox")).toMatchObject([{ sandbox: "s1", keep: true }]);
    expect(types.indexOf("keep_sandbox")).toBeLessThan(types.indexOf("close_document"));
  });

  it("stops it, when told to", async () => {
    const page = await running();
    await page.user.click(screen.getByRole("button", { name: "Stop it and close" }));
    await settle();
    expect(page.sent("keep_sandbox")).toEqual([]);
    expect(page.sent("close_document")).toHaveLength(1);
  });

  it.each([
    ["nothing runs", {}, false],
    ["the sandbox is kept anyway", { kept: true }, true],
    ["the kernel is somebody else's", { owned: false }, true],
    ["another notebook uses it", { documents: ["d1", "d2"] }, true],
  ] as const)("asks nothing when %s", async (_name, part, busy) => {
    const page = await running(part as Partial<SandboxView>, busy);
    expect(page.sent("close_document")).toHaveLength(1);
  });
});

it("moving a notebook whose cells run asks the same", async () => {
  const page = await running();
  page.desk.overlay = null;
  const choice = { type: "kernel_here", kernel: "python3" } as const;
  expect(await chooseSandbox(page.desk, page.notebook(), choice)).toBe(false);
  await settle();
  expect(page.sent("choose_sandbox")).toEqual([]);
  await page.user.click(screen.getByRole("button", { name: "Keep it running, move" }));
  await settle();
  expect(page.sent("keep_sandbox")).toHaveLength(1);
  expect(page.sent("choose_sandbox")).toMatchObject([{ choice }]);
});
