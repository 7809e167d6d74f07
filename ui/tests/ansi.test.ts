import { describe, expect, it } from "vitest";

import { paletteColour, renderLine, renderLines, stripCodes } from "../src/text/ansi";
import { FLOOR, nudge, PAPER, ratio, type Rgb } from "../src/text/contrast";

const ESC = "\u001b";

describe("a line of output", () => {
  it("is escaped, so that output cannot become markup", () => {
    expect(renderLine(`<img src=x onerror="alert(1)"> & co`).html).toBe(
      "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; co",
    );
  });

  it("is escaped inside colour codes as well", () => {
    expect(renderLine(`${ESC}[31m<b>${ESC}[0m`).html).toBe('<span class="a1">&lt;b&gt;</span>');
  });

  it("turns the sixteen named colours into tokens", () => {
    expect(renderLine(`${ESC}[32mok${ESC}[0m ${ESC}[1;91mbad${ESC}[m`).html).toBe(
      '<span class="a2">ok</span> <span class="a9 ab">bad</span>',
    );
  });

  it("takes the first sixteen of the 256 colours for the named ones", () => {
    expect(renderLine(`${ESC}[38;5;4mx`).html).toBe('<span class="a4">x</span>');
  });

  it("gives a true colour one value for each theme", () => {
    const { html } = renderLine(`${ESC}[38;2;255;255;0mx`);
    expect(html).toMatch(/^<span class="ax" style="--c0:#[0-9a-f]{6};--c1:#ffff00;--c2:#ffff00">x<\/span>$/);
  });

  it("reads a true colour written with colons and an empty colour space", () => {
    expect(renderLine(`${ESC}[38:2::0:0:0mx`).html).toContain("--c0:#000000");
  });

  it("draws text on a named background in the colour of the paper", () => {
    expect(renderLine(`${ESC}[31;44mx`).html).toBe('<span class="bg4">x</span>');
  });

  it("swaps colours for inverse text", () => {
    expect(renderLine(`${ESC}[7mx${ESC}[27my`).html).toBe('<span class="ai">x</span>y');
    expect(renderLine(`${ESC}[31;7mx`).html).toBe('<span class="bg1">x</span>');
  });

  it("drops every other control sequence", () => {
    expect(renderLine(`a${ESC}[2Kb${ESC}[10;3Hc${ESC}]0;title\u0007d\u0008`).html).toBe("abcd");
  });

  it("links web addresses and nothing else", () => {
    const link = (url: string): string => renderLine(`${ESC}]8;;${url}${ESC}\\x${ESC}]8;;${ESC}\\`).html;
    expect(link("https://example.org/?a=1&b=2")).toBe(
      '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer">x</a>',
    );
    expect(link("javascript:alert(1)")).toBe("x");
    expect(link('https://x/"onclick="y')).not.toContain('"onclick');
  });

  it("hands its colours on to the next line", () => {
    expect(renderLines([`${ESC}[31ma`, "b", `${ESC}[0mc`])).toBe(
      '<span class="a1">a</span>\n<span class="a1">b</span>\nc',
    );
  });

  it("can be read without its codes", () => {
    expect(stripCodes(`${ESC}[1mbold${ESC}[0m and plain`)).toBe("bold and plain");
  });
});

describe("colours beyond the named ones", () => {
  it("are moved until they reach the floor on every theme's paper", () => {
    for (let n = 16; n < 256; n++) {
      const colour = paletteColour(n);
      if (!("rgb" in colour)) throw new Error(`${n} is no true colour`);
      for (const paper of PAPER) expect(ratio(nudge(colour.rgb, paper), paper)).toBeGreaterThanOrEqual(FLOOR);
    }
  });

  it("stay as they are where they can be read", () => {
    const navy: Rgb = [0, 0, 128];
    expect(nudge(navy, PAPER[0])).toEqual(navy);
  });
});
