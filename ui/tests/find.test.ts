// Find says what it looked at, and nothing that is not so.
import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { OutputView, Reply } from "../src/platform";
import { rangeOf, rangesOf } from "../src/outputs/found";
import type { Cell } from "../src/state/cell.svelte";
import { fits, patternOf } from "../src/state/find.svelte";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { line, rich, text } from "./fixture/scenes";
import { openPage, rows, settle, type OpenPage } from "./page";

const strip = (page: OpenPage): string => page.root.querySelector(".find")?.textContent ?? "";

async function find(query: string, set: (page: OpenPage) => void = () => undefined): Promise<OpenPage> {
  const page = await openPage(
    new FixtureOwner(workspaceView(), [
      { id: "d1", status: documentStatus(), cells: [cellView({ source: "x", outputs: [text("cat concat")] })] },
    ]),
  );
  page.desk.find.show(false);
  set(page);
  page.desk.find.query = query;
  await settle(3);
  return page;
}

const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200)).then(() => settle());

describe("a search that found nothing", () => {
  it("says so only once it is over", async () => {
    const page = await find("zzz");
    expect(strip(page)).toContain("Searching…");
    expect(strip(page)).not.toContain("No match");
    await rest();
    expect(strip(page)).toContain("No match in code, text or outputs. Folded lines were searched too.");
  });

  it.each([
    [
      "a regular expression",
      (page: OpenPage) => (page.desk.find.regex = true),
      "No match in code or text. Outputs are not searched with a regular expression.",
    ],
    [
      "selected cells",
      (page: OpenPage) => (page.desk.find.selectedOnly = true),
      "No match in code or text of the selected cells. Outputs are not searched in selected cells only.",
    ],
    ["outputs switched off", (page: OpenPage) => (page.desk.find.inOutputs = false), "No match in code or text."],
  ])("names what was not searched: %s", async (_name, set, sentence) => {
    const page = await find("zzz", set);
    await rest();
    expect(strip(page)).toContain(sentence);
    expect(strip(page)).not.toContain("Folded");
  });
});

it("a whole word is one in outputs too", async () => {
  const page = await find("cat", (opened) => {
    opened.desk.find.wholeWord = true;
    const [cell] = opened.notebook().cells;
    const match = { cell: cell?.key ?? "", output: "o", line: 0, length: 3, excerpt: "cat concat" };
    opened.owner.answers = (command): Reply | undefined =>
      command.type === "search_outputs"
        ? {
            type: "matches",
            matches: [
              { ...match, column: 0 },
              { ...match, column: 7 },
            ],
            more: false,
          }
        : undefined;
  });
  await rest();
  expect(page.desk.find.hits.map((hit) => hit.output?.column)).toEqual([0]);
});

it("a match far into a line is judged by its place in the excerpt", () => {
  const word = patternOf("cat", { caseSensitive: false, wholeWord: true, regex: false });
  if (!word) throw new Error("no pattern");
  const line = `${"é".repeat(60)} cat ${"x".repeat(50)}concat`;
  const excerpt = (column: number, from: number): boolean => fits({ column, excerpt: line.slice(from) }, word);
  expect(excerpt(61, 20)).toBe(true);
  expect(excerpt(118, 49)).toBe(false);
});

it("what was found in an output is marked, across colours too", () => {
  const out = document.createElement("div");
  out.innerHTML = "a <b>ca</b>t and<i> cat</i>";
  const ranges = rangesOf(out, /cat/g);
  expect(ranges.map((range) => range.toString())).toEqual(["cat", "cat"]);
});

const match = (line: number, column: number, excerpt: string) => ({
  cell: "c",
  output: "o",
  line,
  column,
  length: 3,
  excerpt,
});
const CAT = /cat/g;
const placed = (html: string, wanted: ReturnType<typeof match>, before = 0): string | null => {
  const output = document.createElement("div");
  output.innerHTML = html;
  const range = rangeOf(output, { match: wanted, pattern: CAT, before });
  if (!range) return null;
  const block = range.startContainer.parentElement?.closest("[data-from], td, div");
  return `${block?.getAttribute("data-from") ?? block?.textContent}:${range.startOffset}`;
};

describe("the match that find is at", () => {
  const TEXT = '<div class="txt lines"><div data-from="0">cat\ncat</div></div><div data-from="998">cat\ndog cat</div>';

  it("is told from the same words in other lines", () => {
    expect(placed(TEXT, match(0, 0, "cat"))).toBe("0:0");
    expect(placed(TEXT, match(1, 0, "cat"))).toBe("0:4");
    expect(placed(TEXT, match(999, 4, "dog cat"))).toBe("998:8");
  });

  it("is nowhere while its line is folded or cut", () => {
    expect(placed(TEXT, match(500, 0, "cat"))).toBeNull();
    expect(placed(TEXT, match(999, 5000, "cat"))).toBeNull();
  });

  it("is found by its turn where the text is drawn as a table", () => {
    expect(placed("<table><tr><td>cat 1</td><td>cat 2</td></tr></table>", match(3, 9, "cat 2"), 1)).toBe("cat 2:0");
  });

  it("is found in a traceback by what stands around it", () => {
    const html = '<div class="tb"><div>a cat</div><div>the <b>cat</b></div></div>';
    expect(placed(html, match(7, 4, "the cat"))).toBe("the cat:0");
    expect(placed(html, match(7, 4, "no such cat"))).toBeNull();
  });
});

async function at(found: Partial<ReturnType<typeof match>>, outputs: OutputView[], hidden = false): Promise<OpenPage> {
  const cell = cellView({ source: "x", outputs, outputs_hidden: hidden });
  const page = await openPage(
    new FixtureOwner(workspaceView(), [{ id: "d1", status: documentStatus(), cells: [cell] }]),
  );
  const one = { ...match(0, 0, "cat"), cell: cell.key, output: outputs[0]?.id ?? "", ...found };
  page.owner.answers = (command): Reply | undefined => {
    if (command.type === "search_outputs") return { type: "matches", matches: [one], more: false };
    if (command.type !== "output_lines") return undefined;
    const lines = Array.from({ length: command.count }, (_, i) => line(`line ${command.from + i} cat`));
    return { type: "lines", slice: { from: command.from, lines, total_lines: 1000 } };
  };
  page.desk.find.show(false);
  page.desk.find.query = "cat";
  await rest();
  return page;
}

describe("a hit in an output", () => {
  it("opens folded outputs", async () => {
    const page = await at({}, [text("cat")], true);
    expect(page.root.querySelector(".cell__out")?.textContent).toContain("cat");
    expect(page.root.querySelector(".cell__out .fold")).toBeNull();
  });

  it("in folded lines is shown in the viewer, until find goes away", async () => {
    const long = text("a\nb\nc\nd");
    if (long.body.type === "text")
      long.body = {
        ...long.body,
        text: { ...long.body.text, tail: [line("x"), line("y"), line("z")], total_lines: 1000 },
      };
    const page = await at({ line: 500, column: 9, excerpt: "line 500 cat" }, [long]);
    expect(page.root.querySelector(".viewer__line.is-hit")?.textContent).toBe("line 500 cat");
    page.desk.find.close();
    await settle();
    expect(page.root.querySelector(".viewer")).toBeNull();
  });

  it("that cannot be marked is said to be where it is", async () => {
    const framed = rich("text/html", "<b>x</b>", { framed: true });
    const page = await at({ line: 2, excerpt: "a cat" }, [framed]);
    expect(strip(page)).toContain("Line 3: a cat");
    await new Promise((resolve) => setTimeout(resolve, 1300));
    await settle();
    expect(strip(page)).toContain(
      "Line 3 of the output's plain text, which is shown as HTML and cannot be marked there: a cat",
    );
    expect(page.root.querySelector(".out.is-found")).not.toBeNull();
    page.desk.find.close();
    await settle();
    expect(page.root.querySelector(".out.is-found")).toBeNull();
  });
});

describe("a hit in a source", () => {
  const marked = (name: string): string[] =>
    [...(CSS.highlights.get(name) ?? [])].map((range) => `${range.startOffset}:${(range as Range).toString()}`);

  async function sources(...cells: Parameters<typeof cellView>[0][]): Promise<OpenPage> {
    const page = await openPage(
      new FixtureOwner(workspaceView(), [
        { id: "d1", status: documentStatus(), cells: cells.map((part) => cellView(part)) },
      ]),
    );
    page.desk.find.show(true);
    page.desk.find.query = "B";
    page.desk.find.replacement = "X";
    await rest();
    return page;
  }
  const drawn = (page: OpenPage): (string | undefined)[] =>
    rows(page).map((row) => row.querySelector(".still, .md")?.textContent?.trim());

  it("is drawn as what it became once all are replaced", async () => {
    const page = await sources({ source: "A" }, { source: "B" }, { source: "C" }, { source: "D B B" });
    await page.user.click(screen.getByRole("button", { name: "Replace all" }));
    await rest();
    expect(page.notebook().cells.map((cell) => cell.text)).toEqual(["A", "X", "C", "D X X"]);
    expect(drawn(page)).toEqual(["A", "X", "C", "D X X"]);
  });

  it("is replaced with all others by one change, which one undo takes back", async () => {
    const page = await sources({ source: "B" }, { source: "D B B" }, { kind: "markdown", source: "no" });
    page.notebook().cells[1]?.replace("D B B B");
    page.desk.pump(page.notebook(), page.notebook().cells[1] as Cell);
    await page.user.click(screen.getByRole("button", { name: "Replace all" }));
    await rest();
    expect(page.sent("replace_sources").map((command) => command.sources)).toEqual([
      [
        { cell: page.notebook().cells[0]?.key, base_revision: 0, source: "X" },
        { cell: page.notebook().cells[1]?.key, base_revision: 1, source: "D X X X" },
      ],
    ]);
    expect(page.sent("edit_source")).toHaveLength(1);
    expect(strip(page)).toContain("No match");
    const messages = within(screen.getByRole("region", { name: "Messages" }));
    expect(messages.getByText("4 matches replaced in 2 cells.")).toBeTruthy();
    await page.user.click(messages.getByText("Undo"));
    expect(page.sent("undo")).toHaveLength(1);
  });

  it("is replaced alone by one change, which one undo takes back, wherever the focus is", async () => {
    const page = await sources({ source: "B and B" }, { source: "B" });
    const replace = screen.getByRole("button", { name: "Replace" });
    await page.user.click(replace);
    await rest();
    expect(page.sent("edit_source")).toEqual([]);
    const [cell] = page.notebook().cells;
    expect(page.sent("replace_sources").map((command) => command.sources)).toEqual([
      [{ cell: cell?.key, base_revision: 0, source: "X and B" }],
    ]);
    expect([page.desk.find.current?.cell, page.desk.find.current?.from]).toEqual([cell?.key, 6]);
    await page.user.keyboard("{Control>}z{/Control}");
    expect(page.sent("undo")).toHaveLength(1);
    await page.user.click(replace);
    await page.user.click(replace);
    await rest();
    await page.user.keyboard("z");
    expect(page.sent("undo")).toHaveLength(2);
  });

  it("goes on behind what was put in its place", async () => {
    const page = await sources({ source: "B B" });
    page.desk.find.replacement = "BB";
    await page.user.click(screen.getByRole("button", { name: "Replace" }));
    await rest();
    expect([page.notebook().cells[0]?.text, page.desk.find.current?.from]).toEqual(["BB B", 3]);
  });

  it("is replaced as a part of its line", async () => {
    const page = await sources({ source: "aB cB" });
    page.desk.find.regex = true;
    page.desk.find.query = "(?<=c)B";
    await rest();
    await page.user.click(screen.getByRole("button", { name: "Replace" }));
    await rest();
    expect(page.notebook().cells[0]?.text).toBe("aB cX");
  });

  it("comes back with Ctrl+Z in its editor, as long as nothing came after", async () => {
    const page = await sources({ source: "B" });
    const [cell] = page.notebook().cells as [Cell];
    page.notebook().select(cell, "edit");
    await settle();
    await page.user.click(screen.getByRole("button", { name: "Replace" }));
    await rest();
    page.notebook().select(cell, "edit");
    await settle();
    const editor = page.root.querySelector<HTMLElement>(".cm-content");
    editor?.focus();
    await page.user.keyboard("{Control>}z{/Control}");
    expect(page.sent("undo")).toHaveLength(1);
    await page.user.keyboard("{Control>}z{/Control}");
    expect(page.sent("undo")).toHaveLength(1);
  });

  it("leaves still text as it is, in code and in Markdown", async () => {
    const page = await sources({ source: "x = B  # B" }, { kind: "markdown", source: "*B* or b" });
    expect(page.root.querySelector(".nb mark")).toBeNull();
    page.desk.find.step(1);
    await settle();
    expect([marked("found").length, marked("found-current").length]).toEqual([3, 1]);
    page.owner.patch("d1", {
      type: "source_edited",
      cell: page.notebook().cells[0]?.key ?? "",
      revision: 1,
      author: "other",
      edits: [{ from: 0, to: 10, insert: "y" }],
    });
    page.desk.find.close();
    await rest();
    expect(drawn(page)).toEqual(["y", "B or b"]);
    expect([...marked("found"), ...marked("found-current")]).toEqual([]);
  });

  it("that find is at is told apart from the others", async () => {
    const page = await sources({ source: "B and B" });
    expect(marked("found-current")).toEqual(["0:B"]);
    page.desk.find.step(1);
    await settle();
    expect([marked("found"), marked("found-current")].map((all) => all.length)).toEqual([1, 1]);
    page.desk.find.close();
    await settle();
  });
});
