import { describe, expect, it } from "vitest";

import type { Representation } from "../src/platform";
import { drawable, drawingOf, fileNameOf } from "../src/outputs/choose";
import { BLOCK, blocks, lineHtml } from "../src/outputs/lines";
import { parseTable, toCsv } from "../src/outputs/table";
import { FRAME, line } from "./fixture/scenes";

const form = (media_type: string, text: string | null, framed = false): Representation => ({
  media_type,
  text,
  framed,
  table: false,
  resource: "r",
  size: 1,
  width: null,
  height: null,
  pixels: null,
  alt: null,
});

describe("how a form is drawn", () => {
  it("never puts HTML, SVG or JavaScript into the page", () => {
    expect(drawingOf(form("text/html", "<b>x</b>", true))).toBe("frame");
    expect(drawingOf(form("image/svg+xml", "<svg/>", true))).toBe("frame");
    expect(drawingOf(form("application/javascript", "x", true))).toBe("frame");
  });

  it("draws a plain pandas table itself", () => {
    expect(drawingOf(form("text/html", FRAME, true))).toBe("table");
  });

  it("passes over what it cannot draw, in the owner's order", () => {
    const forms = [form("application/vnd.unknown", "{}"), form("image/png", null), form("text/plain", "x")];
    expect(drawable(forms).map((f) => f.media_type)).toEqual(["image/png", "text/plain"]);
  });

  it("draws JSON, LaTeX and Markdown", () => {
    expect(drawingOf(form("application/geo+json", "{}"))).toBe("json");
    expect(drawingOf(form("text/latex", "$x$"))).toBe("latex");
    expect(drawingOf(form("text/markdown", "# x"))).toBe("markdown");
  });

  it("shows text that is too long for the page in a frame", () => {
    expect(drawingOf(form("text/plain", null))).toBe("frame");
    expect(drawingOf({ ...form("text/markdown", null), size: 600_000 })).toBe("frame");
  });

  it("fetches a longer table, and JSON or Markdown, up to what the page may hold of one output", () => {
    const table = { ...form("text/html", null, true), table: true, size: 200_000 };
    expect(drawingOf(table)).toBe("table");
    expect(drawingOf(table, FRAME)).toBe("table");
    expect(drawingOf(table, "<script>1</script>")).toBe("frame");
    expect(drawingOf({ ...form("application/json", null), size: 200_000 })).toBe("json");
    expect(drawingOf({ ...form("text/html", null, true), size: 200_000 })).toBe("frame");
  });

  it("names files by what they are", () => {
    expect(fileNameOf(form("image/jpeg", null), "figure")).toBe("figure.jpg");
    expect(fileNameOf(form("application/geo+json", ""), "output")).toBe("output.json");
    expect(fileNameOf(form("application/../../etc", ""), "output")).toBe("output.");
  });
});

describe("a pandas table", () => {
  it("is read as data", () => {
    const table = parseTable(FRAME);
    expect(table?.header[0]?.map((cell) => cell.text)).toEqual([
      "hour",
      "rentals",
      "temp_c",
      "humidity",
      "wind_ms",
      "rain_mm",
      "workday",
      "season",
    ]);
    expect(table?.indexColumns).toBe(1);
    expect(table?.rows).toHaveLength(5);
    expect(table?.dimensions).toBe("17544 rows × 7 columns");
  });

  it("keeps its place where row headers span rows", () => {
    const html = `<table class="dataframe"><thead><tr><th>a</th><th>b</th><th>v</th></tr></thead><tbody><tr><th rowspan="2">x</th><th>1</th><td>10</td></tr><tr><th>2</th><td>20</td></tr></tbody></table>`;
    expect(parseTable(html)?.rows).toEqual([
      ["x", "1", "10"],
      ["", "2", "20"],
    ]);
  });

  it.each([
    ["a Styler's cells", '<table class="dataframe"><tbody><tr><td id="T_1" class="data">1</td></tr></tbody></table>'],
    ["links", '<table class="dataframe"><tbody><tr><td><a href="x">1</a></td></tr></tbody></table>'],
    ["scripts", '<table class="dataframe"><tbody><tr><td>1<script>x</script></td></tr></tbody></table>'],
    ["two tables", '<table class="dataframe"></table><table class="dataframe"></table>'],
  ])("with %s is not plain", (_name, html) => {
    expect(parseTable(html)).toBeNull();
  });

  it("is copied as CSV", () => {
    const html = `<table class="dataframe"><thead><tr><th></th><th>a,b</th></tr></thead><tbody><tr><th>0</th><td>say "hi"</td></tr></tbody></table>`;
    const table = parseTable(html);
    expect(table && toCsv(table)).toBe(',"a,b"\n0,"say ""hi"""');
  });
});

describe("lines", () => {
  it("are drawn in blocks, so that a growing text redraws only its last one", () => {
    const lines = Array.from({ length: BLOCK * 2 + 1 }, (_, i) => line(`l${i}`));
    const before = blocks(lines);
    const after = blocks([...lines, line("new")]);
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after).toHaveLength(3);
  });

  it("say how much of them is not here", () => {
    expect(lineHtml({ text: "x", hidden: 20_000_000, next: 4096 })).toContain("20,000,000 more characters");
  });
});
