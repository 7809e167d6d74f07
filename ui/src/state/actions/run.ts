// Running, stopping, restarting.

import { OwnerError, type CellSelection, type SandboxChoice, type SandboxView } from "../../platform";
import type { Notebook } from "../notebook.svelte";
import type { Workbench } from "../workbench.svelte";
import { can, sandboxOf, whyNot } from "../capability";
import { insertAt } from "./cells";
import { flush, keysOf, targets } from "./targets";

const NEEDS_SANDBOX = new Set(["no_sandbox", "no_kernel_found"]);

/** The keys that a selection means. */
function keysIn(notebook: Notebook, selection: CellSelection): string[] {
  if (selection.type === "cells") return selection.cells;
  const all = keysOf(notebook.cells);
  if (selection.type === "all") return all;
  const at = all.indexOf(selection.cell);
  return selection.type === "above" ? all.slice(0, at) : all.slice(at);
}

export async function run(desk: Workbench, notebook: Notebook, selection: CellSelection): Promise<void> {
  // Nothing comes before the request where nothing has to: what the page does meanwhile, the kernel need not wait for.
  const open = flush(notebook);
  if (open) await open;
  for (const key of keysIn(notebook, selection)) notebook.asked.add(key);
  try {
    await desk.request({ type: "run", document: notebook.id, selection });
  } catch (error) {
    if (error instanceof OwnerError && NEEDS_SANDBOX.has(error.code)) desk.overlay = { kind: "sandbox" };
    else desk.fail(error);
  }
}

/** Runs code cells, shows text cells as text. */
export async function runTargets(desk: Workbench, notebook: Notebook): Promise<void> {
  const cells = targets(notebook);
  const code = cells.filter((cell) => cell.kind === "code");
  notebook.setMode("command");
  if (code.length > 0) await run(desk, notebook, { type: "cells", cells: keysOf(code) });
}

export async function runAndAdvance(desk: Workbench, notebook: Notebook): Promise<void> {
  const last = targets(notebook).at(-1);
  if (!last) return;
  const running = runTargets(desk, notebook);
  const next = notebook.cells[notebook.indexOf(last) + 1];
  if (next) notebook.select(next);
  else await insertAt(desk, notebook, notebook.cells.length, "code", "edit");
  await running;
}

export async function runAndInsert(desk: Workbench, notebook: Notebook): Promise<void> {
  const last = targets(notebook).at(-1);
  if (!last) return;
  const running = runTargets(desk, notebook);
  await insertAt(desk, notebook, notebook.indexOf(last) + 1, "code", "edit");
  await running;
}

export const runAll = (desk: Workbench, notebook: Notebook): Promise<void> => run(desk, notebook, { type: "all" });

export async function runAbove(desk: Workbench, notebook: Notebook): Promise<void> {
  const first = targets(notebook)[0];
  if (first) await run(desk, notebook, { type: "above", cell: first.key });
}

export async function runBelow(desk: Workbench, notebook: Notebook): Promise<void> {
  const first = targets(notebook)[0];
  if (first) await run(desk, notebook, { type: "below", cell: first.key });
}

/** A cell that goes on this long after it was told to stop can be killed. */
const STUBBORN_MS = 5000;

export async function interrupt(desk: Workbench, notebook: Notebook): Promise<void> {
  const running = notebook.queue.running;
  if (running !== null && !can(desk, notebook, "interrupt")) return;
  if (!(await desk.ask({ type: "interrupt", document: notebook.id })) || running === null) return;
  setTimeout(() => {
    if (notebook.queue.running !== running || whyNot(sandboxOf(desk, notebook), "restart")) return;
    desk.toasts.show("The cell has not stopped.", {
      level: "warn",
      hint: "Killing it restarts the kernel: all variables are lost, outputs and files stay.",
      actions: [{ label: "Kill", run: () => void restartNow(desk, notebook, false) }],
    });
  }, STUBBORN_MS);
}

/** Restarting throws variables away: the person is asked when there may be some. */
export function restart(desk: Workbench, notebook: Notebook, all: boolean): void {
  if (!can(desk, notebook, "restart")) return;
  const ran = notebook.cells.some((cell) => cell.run.ran_revision !== null && cell.look !== "lost");
  if (ran) desk.overlay = { kind: "restart", runAll: all };
  else void restartNow(desk, notebook, all);
}

export async function restartNow(desk: Workbench, notebook: Notebook, all: boolean): Promise<void> {
  if (all) await flush(notebook);
  await desk.ask({ type: "restart", document: notebook.id, run_all: all });
}

/** The sandbox that ends when the notebook leaves it, while cells of the notebook run or wait there. */
export function endsWhileRunning(desk: Workbench, notebook: Notebook): SandboxView | null {
  const { running, waiting } = notebook.queue;
  if (running === null && waiting.length === 0) return null;
  const sandbox = sandboxOf(desk, notebook);
  if (!sandbox?.owned || sandbox.kept || sandbox.documents.some((id) => id !== notebook.id)) return null;
  return sandbox;
}

/** Answers whether the notebook runs there now. Where cells would be stopped by it, the person is asked first. `onId` hears the
 * number by which the start can be cancelled. */
export async function chooseSandbox(
  desk: Workbench,
  notebook: Notebook,
  choice: SandboxChoice,
  onId?: (id: number) => void,
): Promise<boolean> {
  if (endsWhileRunning(desk, notebook)) {
    desk.overlay = { kind: "leave", notebook: notebook.id, next: choice };
    return false;
  }
  return moveTo(desk, notebook, choice, onId);
}

export async function moveTo(
  desk: Workbench,
  notebook: Notebook,
  choice: SandboxChoice,
  onId?: (id: number) => void,
): Promise<boolean> {
  const answer = await desk.ask({ type: "choose_sandbox", document: notebook.id, choice }, onId);
  return answer !== null;
}
