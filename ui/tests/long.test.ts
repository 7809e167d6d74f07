// What is too long to show at once can be looked at, searched and taken away in full.
import { screen } from "@testing-library/svelte";
import { describe, expect, it, vi } from "vitest";

import type { OutputView, TextLine } from "../src/platform";
import { PAGE, Pages } from "../src/outputs/pages.svelte";
import { nextPiece, wholeText } from "../src/outputs/whole";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { rich, text } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

function pageOf(outputs: OutputView[]): Promise<OpenPage> {
  return openPage(
    new FixtureOwner(workspaceView(), [
      { id: "d1", status: documentStatus(), cells: [cellView({ source: "x", outputs })] },
    ]),
  );
}

/** A line as the owner gives it: 10 characters, then pieces of 20. */
const LINE = "0123456789".repeat(10);
function piece(offset: number): TextLine {
  const end = offset + (offset === 0 ? 10 : 20);
  const hidden = Math.max(0, LINE.length - end);
  return { text: LINE.slice(offset, end), hidden, next: hidden > 0 ? end : 0 };
}

function cutOutput(): OutputView {
  const output = text("short");
  if (output.body.type === "text")
    output.body = { ...output.body, text: { head: [piece(0)], tail: [], total_lines: 1, total_bytes: 100 } };
  return output;
}

describe("a line that was cut", () => {
  it("grows by a piece at a time, until all of it is there", async () => {
    const page = await pageOf([cutOutput()]);
    page.owner.answers = (command) =>
      command.type === "output_lines"
        ? { type: "lines", slice: { from: 0, lines: [piece(command.offset)], total_lines: 1 } }
        : undefined;
    expect(page.root.textContent).toContain("1 line cut, 90 more characters");
    await page.user.click(screen.getByRole("button", { name: "Show more" }));
    await settle();
    expect(page.sent("output_lines")).toMatchObject([{ from: 0, count: 1, offset: 10 }]);
    expect(page.root.textContent).toContain("1 line cut, 70 more characters");
    for (let i = 0; i < 4; i++) {
      await page.user.click(screen.getByRole("button", { name: "Show more" }));
      await settle(3);
    }
    expect(page.root.querySelector(".cell__out")?.textContent).toContain(LINE);
    expect(screen.queryByRole("button", { name: "Show more" })).toBeNull();
  });

  it("is copied in full", async () => {
    const page = await pageOf([cutOutput()]);
    page.owner.answers = (command) =>
      command.type === "output_lines"
        ? { type: "lines", slice: { from: 0, lines: [piece(command.offset)], total_lines: 1 } }
        : undefined;
    const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
    await page.user.click(screen.getByRole("button", { name: "Copy" }));
    await settle();
    expect(write).toHaveBeenCalledWith(LINE);
  });

  it("can be searched and saved", async () => {
    await pageOf([cutOutput()]);
    expect(screen.getByRole("button", { name: "Search inside" })).toBeTruthy();
    expect(screen.getByRole("button", { name: "Save as file" })).toBeTruthy();
  });
});

describe("a line that is longer than the page may hold", () => {
  const PIECE = 128 * 1024;
  const TOTAL = 4_000_000;
  const START = 4096;
  /** Each piece says at its beginning where it begins. */
  const longPiece = (offset: number): TextLine => {
    const end = offset === 0 ? START : Math.min(TOTAL, offset + PIECE);
    const mark = `[${offset}]`;
    return { text: mark.padEnd(end - offset, "x"), hidden: TOTAL - end, next: end === TOTAL ? 0 : end };
  };
  const shown = (page: OpenPage): string => page.root.querySelector(".lines")?.textContent ?? "";
  const press = async (page: OpenPage, name: string): Promise<void> => {
    await page.user.click(screen.getByRole("button", { name }));
    await settle(2);
  };

  it("comes piece by piece, to its end, and goes back, while the page never holds more than 512 KB of it", async () => {
    const output = text("short");
    if (output.body.type === "text")
      output.body = { ...output.body, text: { head: [longPiece(0)], tail: [], total_lines: 1, total_bytes: TOTAL } };
    const page = await pageOf([output]);
    page.owner.answers = (command) =>
      command.type === "output_lines"
        ? { type: "lines", slice: { from: 0, lines: [longPiece(command.offset)], total_lines: 1 } }
        : undefined;
    let most = 0;
    let presses = 0;
    while (screen.queryByRole("button", { name: "Show more" }) && presses < 200) {
      await press(page, "Show more");
      presses += 1;
      most = Math.max(most, shown(page).length);
    }
    expect(presses).toBe(Math.ceil((TOTAL - START) / PIECE));
    expect(most).toBeGreaterThan(300_000);
    expect(most).toBeLessThan(512 * 1024 + 100);
    const last = START + (presses - 1) * PIECE;
    expect(shown(page)).toContain(`[${last}]`);
    expect(page.root.textContent).toContain("its beginning is not shown");

    for (let i = 0; i < 5; i++) await press(page, "Show earlier");
    expect(shown(page)).not.toContain(`[${last}]`);
    expect(shown(page)).toContain(`[${last - 8 * PIECE}]`);
    expect(shown(page).length).toBeLessThan(512 * 1024 + 100);
    await press(page, "Show more");
    expect(shown(page)).toContain(`[${last - 4 * PIECE}]`);
  });
});

describe("a text of many lines", () => {
  /** An owner that gives no more than 512 KB at a time, of lines that say which they are. */
  const owner = (length: number, asked: number[] = []) => {
    const lineAt = (index: number): TextLine => ({ text: `<${index}>`.padEnd(length, "x"), hidden: 0, next: 0 });
    return (total: number) => (from: number, count: number) => {
      asked.push(from);
      const most = Math.min(count, total - from, Math.floor((512 * 1024) / length));
      return Promise.resolve(Array.from({ length: most }, (_, i) => lineAt(from + i)));
    };
  };

  it.each([1, 80, 2048, 60_000])(
    "of %i characters is held in 512 KB, and no line in view is missing",
    async (length) => {
      const total = 10_000;
      const pages = new Pages(owner(length)(total));
      for (const first of [0, 30, 49, 51, 5000, 5060, 9955, 0]) {
        const last = Math.min(total - 1, first + 44);
        pages.want(first, last, total);
        await settle(2);
        for (let line = first; line <= last; line++) {
          expect(pages.line(line)?.text.startsWith(`<${line}>`), `line ${line}`).toBe(true);
        }
        // Lines of 60,000 characters are more than any owner gives; then only what is in view is held.
        expect(pages.held).toBeLessThanOrEqual(length > 2048 ? 2 * PAGE * length : 512 * 1024);
      }
    },
  );

  it("asks again for nothing that it has", async () => {
    const asked: number[] = [];
    const pages = new Pages(owner(80, asked)(1000));
    for (const first of [0, 10, 60, 0]) {
      pages.want(first, first + 60, 1000);
      await settle(2);
    }
    expect(asked).toEqual([0, 50, 100]);
  });

  it("shows 200 lines more at a press, until that is more than the page may hold", async () => {
    const length = 1500;
    const lineAt = (index: number): TextLine => ({ text: `<${index}>`.padEnd(length, "x"), hidden: 0, next: 0 });
    const output = text("short");
    const total = 20_000;
    if (output.body.type === "text")
      output.body = {
        ...output.body,
        text: {
          head: [0, 1, 2, 3].map(lineAt),
          tail: [total - 3, total - 2, total - 1].map(lineAt),
          total_lines: total,
          total_bytes: total * length,
        },
      };
    const page = await pageOf([output]);
    page.owner.answers = (command) =>
      command.type === "output_lines"
        ? {
            type: "lines",
            slice: {
              from: command.from,
              lines: Array.from({ length: command.count }, (_, i) => lineAt(command.from + i)),
              total_lines: total,
            },
          }
        : undefined;
    const shown = (): string => [...page.root.querySelectorAll(".txt")].map((node) => node.textContent).join("");
    await page.user.click(screen.getByRole("button", { name: "Show 200 more" }));
    await settle();
    expect(shown()).toContain("<203>");
    expect(shown()).not.toContain("<204>");
    await page.user.click(screen.getByRole("button", { name: "Show 200 more" }));
    await settle(20);
    expect(screen.getByRole("region", { name: "Whole output" })).toBeTruthy();
    expect(shown()).toContain("<0>");
    expect(shown().length).toBeLessThan(512 * 1024);
  });
});

describe("all of a text", () => {
  const ask = (from: number, count: number, offset: number): Promise<TextLine[]> =>
    Promise.resolve(offset > 0 ? [piece(offset)] : Array.from({ length: Math.min(count, 3 - from) }, () => piece(0)));

  it("has every line in full", async () => {
    expect(await wholeText(ask, 3)).toEqual([LINE, LINE, LINE]);
  });

  it("is nothing rather than a part, when the owner does not answer", async () => {
    expect(
      await wholeText((from, count, offset) => (offset > 10 ? Promise.resolve(null) : ask(from, count, offset)), 3),
    ).toBeNull();
  });

  it("does not ask for ever", async () => {
    const stuck: TextLine = { text: "", hidden: 5, next: 10 };
    expect(await nextPiece(() => Promise.resolve([stuck]), 0, piece(0))).toBeNull();
  });
});

it("a long table shows 20 rows, and the others when asked", async () => {
  const body = Array.from({ length: 100 }, (_, i) => `<tr><th>${i}</th><td>v${i}</td></tr>`).join("");
  const html = `<table class="dataframe"><thead><tr><th></th><th>a</th></tr></thead><tbody>${body}</tbody></table><p>100 rows × 1 columns</p>`;
  const page = await pageOf([rich("text/html", html)]);
  const rows = (): number => page.root.querySelectorAll(".df tbody tr").length;
  expect(rows()).toBe(20);
  expect(page.root.textContent).toContain("20 of 100 rows, 1 column");
  await page.user.click(screen.getByRole("button", { name: "Show 80 more rows" }));
  await settle();
  expect(rows()).toBe(100);
  expect(page.root.textContent).toContain("100 rows, 1 column");
  await page.user.click(screen.getByRole("button", { name: "Fold" }));
  await settle();
  expect(rows()).toBe(20);
});

it("a progress bar that wiped itself away leaves nothing to see", async () => {
  const blank = text("");
  if (blank.body.type === "text") blank.body = { ...blank.body, stream: "stderr" };
  const page = await pageOf([blank]);
  expect(page.root.querySelector(".out")).toBeNull();
});

it("an output is written over a file only after the person was asked, though the list does not show it", async () => {
  const page = await pageOf([cutOutput()]);
  page.owner.answers = (command) => {
    if (command.type === "output_text") return { type: "resource", resource: "r", size: 1 };
    if (command.type !== "save_resource" || command.replace) return undefined;
    return { code: "file_exists", message: "There is a file.", hint: "", retry: false };
  };
  await page.user.click(screen.getByRole("button", { name: "Save as file" }));
  await settle();
  await page.user.click(screen.getByRole("button", { name: "Save" }));
  await settle();
  expect(screen.getByRole("alertdialog").textContent).toContain("Replace output.txt?");
  await page.user.click(screen.getByRole("button", { name: "Replace the file" }));
  await settle();
  expect(page.sent("save_resource").map(({ replace }) => replace)).toEqual([false, true]);
  expect(page.root.textContent).toContain("Saved as /home/ana/output.txt.");
});
