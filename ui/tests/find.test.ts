// Find says what it looked at, and nothing that is not so.
import { describe, expect, it } from "vitest";

import type { Reply } from "../src/platform";
import { rangesOf } from "../src/shell/marks";
import { fits, patternOf } from "../src/state/find.svelte";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { text } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

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
