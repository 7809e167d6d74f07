// The owner out of reach: the page says so everywhere, and nothing that was typed is lost.
import { screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";

import { cellView, documentStatus, FixtureOwner, idleRun, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, rows, settle, type OpenPage } from "./page";

function owner(): FixtureOwner {
  const cells = [cellView({ source: "a", run: idleRun({ state: "running" }) }), cellView({ source: "b" })];
  return new FixtureOwner(workspaceView({ sandboxes: [sandboxView()] }), [
    { id: "d1", status: documentStatus({ sandbox: "s1" }), cells },
  ]);
}

async function again(page: OpenPage): Promise<void> {
  page.owner.away = false;
  await vi.waitFor(() => expect(page.desk.link.state).toBe("up"), 10_000);
  await settle();
}

function type(page: OpenPage, index: number, text: string): void {
  const cell = page.notebook().cells[index];
  if (!cell) throw new Error("no cell");
  cell.replace(text);
  page.desk.pump(page.notebook(), cell);
}

/** Whether the browser would ask before it closes the page. */
const asksToStay = (): boolean => !window.dispatchEvent(new Event("beforeunload", { cancelable: true }));

describe("while the owner is out of reach", () => {
  it("the pill, the cells and a banner say so", async () => {
    const page = await openPage(owner());
    expect(screen.getByRole("button", { name: /^Runtime .*Busy/ })).toBeTruthy();
    page.owner.cut();
    page.desk.lostSince = Date.now() - 4000;
    await settle(2);
    expect(screen.getByRole("button", { name: /^Runtime .*Reconnecting/ })).toBeTruthy();
    expect(rows(page)[0]?.className).toContain("is-nosignal");
    expect(page.root.querySelector(".banner")?.textContent).toMatch(/lost 0:0[345] ago/);
    await again(page);
    expect(rows(page)[0]?.className).toContain("is-running");
    expect(page.root.querySelector(".banner")).toBeNull();
  });

  it("a banner waits until the cut is worth reading about", async () => {
    const page = await openPage(owner());
    page.owner.cut();
    await settle(2);
    expect(page.root.querySelector(".banner")).toBeNull();
    await again(page);
  });

  it("closing the page is asked about as long as something typed has not arrived", async () => {
    const page = await openPage(owner());
    expect(asksToStay()).toBe(false);
    page.owner.cut();
    type(page, 1, "bc");
    await settle(2);
    expect(asksToStay()).toBe(true);
    await again(page);
    expect(page.owner.documents[0]?.cells[1]?.source).toBe("bc");
    expect(asksToStay()).toBe(false);
  });
});

describe("an owner that started again", () => {
  function restart(page: OpenPage, sources: readonly string[], listed = true): void {
    const cells = sources.map((source) => cellView({ source }));
    const next = { id: "d2", status: documentStatus(), cells };
    page.owner.documents.splice(0, 1, ...(listed ? [next] : []));
    page.owner.answers = (command) => {
      if (command.type !== "open_document") return undefined;
      page.owner.documents.push(next);
      return { type: "document", document: "d2", status: next.status };
    };
    page.owner.cut();
  }

  it.each([true, false])(
    "has the same file under another name, and gets what was typed (open there: %s)",
    async (listed) => {
      const page = await openPage(owner());
      restart(page, ["a", "b"], listed);
      type(page, 1, "bc");
      await again(page);
      expect(page.desk.notebooks.map((notebook) => notebook.id)).toEqual(["d2"]);
      expect(page.desk.tab).toBe("d2");
      await vi.waitFor(() => expect(page.owner.documents[0]?.cells[1]?.source).toBe("bc"));
      expect(page.notebook().cells.map((cell) => cell.text)).toEqual(["a", "bc"]);
    },
  );

  it("gets nothing into a cell that is another one, and the person is told", async () => {
    const page = await openPage(owner());
    restart(page, ["a", "something else"]);
    type(page, 1, "bc");
    await again(page);
    expect(page.notebook().cells.map((cell) => cell.text)).toEqual(["a", "something else"]);
    expect(screen.getByRole("region", { name: "Messages" }).textContent).toMatch(/did not arrive/);
  });
});
