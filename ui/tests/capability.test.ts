// The page obeys what a sandbox says it can do: what it cannot do is off, with its reason, and is asked of it by no other way.
import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { Capability, Command } from "../src/platform";
import * as act from "../src/state/actions";
import { type Ability, whyNot } from "../src/state/capability";
import { cellView, documentStatus, FixtureOwner, idleRun, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { focusRow, openPage, type OpenPage, settle } from "./page";

const ALL: readonly Ability[] = ["interrupt", "restart", "completion", "survive"];
const record = (change: (name: Ability) => Capability | null): Capability[] =>
  ALL.flatMap((name) => change(name) ?? []);
const yes = (name: Ability): Capability => ({ name, state: "yes", note: "" });

/** A page whose kernel runs a cell, or is idle. */
async function onSandbox(capabilities: Capability[], busy: boolean): Promise<OpenPage> {
  const cells = [
    cellView({ source: "value", run: idleRun({ state: busy ? "running" : "done", ran_revision: 0 }) }),
    cellView({ source: "value.", run: idleRun() }),
  ];
  const kernel = { ...sandboxView().kernel, state: busy ? ("busy" as const) : ("idle" as const) };
  const queue = { running: busy ? (cells[0]?.key ?? null) : null, waiting: [], held: [], held_by: null };
  const owner = new FixtureOwner(workspaceView({ sandboxes: [sandboxView({ capabilities, kernel })] }), [
    { id: "d1", status: documentStatus({ sandbox: "s1" }), cells, queue },
  ]);
  return openPage(owner);
}

/** Every control that asks for something: in the toolbar, and in the menu of the pill. */
const CONTROLS: Record<Exclude<Ability, "completion">, readonly (readonly ["bar" | "menu", RegExp])[]> = {
  interrupt: [
    ["bar", /^Stop the running cell/],
    ["menu", /^Stop the running cell/],
  ],
  restart: [
    ["bar", /^Restart the kernel/],
    ["menu", /^Restart the kernel/],
    ["menu", /^Restart and run all cells/],
  ],
  survive: [
    ["menu", /^Detach, keep it running/],
    ["menu", /^Keep it running when the notebook is closed/],
  ],
};

async function control(page: OpenPage, place: "bar" | "menu", name: RegExp): Promise<HTMLButtonElement> {
  if (place === "menu" && !screen.queryByRole("dialog", { name: "Runtime" })) {
    await page.user.click(screen.getByRole("button", { name: /^Runtime / }));
    await settle(3);
  }
  const around =
    place === "bar"
      ? screen.getByRole("toolbar", { name: "Notebook" })
      : screen.getByRole("dialog", { name: "Runtime" });
  const found = [...around.querySelectorAll<HTMLButtonElement>("button")].find((button) =>
    name.test(button.getAttribute("aria-label") ?? button.textContent?.trim() ?? ""),
  );
  if (!found) throw new Error(`no ${String(name)} in the ${place}`);
  return found;
}

const wordsOf = (button: HTMLElement): string =>
  `${button.getAttribute("aria-label") ?? ""} ${button.textContent ?? ""}`;

/** Every way to ask without a control: by its key, by the palette's action, and by what hangs on it. */
const OTHER_WAYS: Record<Exclude<Ability, "completion">, { keys: string; command: Command["type"] }> = {
  interrupt: { keys: "ii", command: "interrupt" },
  restart: { keys: "00", command: "restart" },
  survive: { keys: "", command: "keep_sandbox" },
};

describe.each(["interrupt", "restart", "survive"] as const)("without %s", (ability) => {
  const reason = `No ${ability} here, by the test.`;
  const without = record((name) => (name === ability ? { name, state: "no", note: reason } : yes(name)));

  it.each(CONTROLS[ability])("the control in the %s is off and says why: %s", async (place, name) => {
    const page = await onSandbox(without, true);
    const button = await control(page, place, name);
    expect(button.disabled).toBe(true);
    expect(wordsOf(button)).toContain(reason);
  });

  it.each(CONTROLS[ability])(
    "and it is on where the sandbox can, also with a limit: the %s, %s",
    async (place, name) => {
      const limited = record((other) =>
        other === ability ? { name: other, state: "limited", note: reason } : yes(other),
      );
      const page = await onSandbox(limited, true);
      const button = await control(page, place, name);
      expect(button.disabled).toBe(false);
      expect(wordsOf(button)).not.toContain(reason);
    },
  );

  it("nothing else asks for it", async () => {
    const page = await onSandbox(without, true);
    const { keys, command } = OTHER_WAYS[ability];
    await focusRow(page, 0);
    if (keys !== "") await page.user.keyboard(keys);
    else act.close(page.desk, page.notebook());
    await settle();
    expect(page.sent(command)).toEqual([]);
    expect(document.body.textContent).toContain(reason);
    if (ability !== "survive") return expect(page.desk.overlay).toBeNull();
    const question = screen.getByRole("alertdialog");
    const keep = within(question).getByRole<HTMLButtonElement>("button", { name: "Keep it running, close" });
    expect(keep.disabled).toBe(true);
  });
});

describe("without completion", () => {
  it.each([
    ["no", 0],
    ["yes", 1],
  ] as const)("(%s) the kernel is asked %i times while a person types", async (state, times) => {
    const page = await onSandbox(
      record((name) => (name === "completion" ? { name, state, note: "" } : yes(name))),
      false,
    );
    page.owner.answers = (command) =>
      command.type === "complete"
        ? { type: "completion", completion: { matches: [["value.real", null]], from: 0, to: 6 } }
        : undefined;
    const cell = page.notebook().cells[1];
    if (cell) page.notebook().select(cell, "edit");
    await settle();
    const editor = page.root
      .querySelectorAll<HTMLElement>("article.cell")[1]
      ?.querySelector<HTMLElement>(".cm-content");
    editor?.focus();
    await page.user.keyboard("{End}{Tab}");
    await settle(30);
    expect(page.sent("complete").length > 0 ? 1 : 0).toBe(times);
  });
});

it("what a record does not name is not there, and without a sandbox nothing is refused", () => {
  for (const ability of ALL) {
    const named = record((name) => (name === ability ? null : yes(name)));
    expect(whyNot(sandboxView({ capabilities: named }), ability)).toMatch(/^[A-Z].*\.$/);
    expect(whyNot(sandboxView({ capabilities: record(yes) }), ability)).toBe("");
    expect(whyNot(null, ability)).toBe("");
  }
});
