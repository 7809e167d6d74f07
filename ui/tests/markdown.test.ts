import { describe, expect, it } from "vitest";

import { headings, renderMarkdown } from "../src/markdown/render";
import { safeStyle } from "../src/markdown/style";

function html(source: string, attachment?: (name: string) => string | null): string {
  const holder = document.createElement("div");
  holder.append(renderMarkdown(source, attachment ? { attachment } : {}).fragment);
  return holder.innerHTML;
}

async function finished(source: string): Promise<HTMLElement> {
  const holder = document.createElement("div");
  const { fragment, finish } = renderMarkdown(source);
  holder.append(fragment);
  await finish(holder);
  return holder;
}

describe("hostile Markdown", () => {
  it.each([
    ["a script", "<script>alert(1)</script>"],
    ["a handler", '<img src="x" onerror="alert(1)">'],
    ["a javascript link", "[x](javascript:alert(1))"],
    ["a javascript link in disguise", "[x](java\nscript:alert(1))"],
    ["an encoded javascript link", "[x](&#106;avascript:alert(1))"],
    ["a data page", "[x](data:text/html,<script>alert(1)</script>)"],
    ["an SVG handler", '<svg onload="alert(1)"><animate onbegin="alert(1)"/></svg>'],
    ["a frame", '<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>'],
    ["an object", '<object data="javascript:alert(1)"></object>'],
    ["a form that posts", '<form action="https://evil.example"><button formaction="javascript:x">b</button></form>'],
    ["a base", '<base href="https://evil.example/">'],
    ["a refresh", '<meta http-equiv="refresh" content="0;url=https://evil.example">'],
    ["a style sheet", "<style>body{display:none}</style>"],
    ["MathML trickery", "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>"],
  ])("cannot bring in %s", (_name, source) => {
    const out = html(source);
    expect(out).not.toMatch(
      /<script|<iframe|<object|<form|<base|<meta|<style|<svg|\son\w+=|javascript:|srcdoc|formaction/i,
    );
  });

  it("cannot dress up as the page's own controls", () => {
    const out = html('<div class="scrim dialog" id="app" style="position:fixed;inset:0;color:red">x</div>');
    expect(out).not.toContain("scrim");
    expect(out).not.toMatch(/id="app"/);
    expect(out).not.toContain("position");
    expect(out).toContain("color: red");
  });

  it("cannot load a picture from the web, which would tell that the notebook is open", () => {
    const out = html("![A cat](https://evil.example/cat.png)");
    expect(out).not.toContain("<img");
    expect(out).toContain('href="https://evil.example/cat.png"');
    expect(out).toContain("A cat (opens in the browser)");
  });

  it("cannot lead to a service of this computer by a picture", () => {
    for (const host of ["127.0.0.1:8888", "localhost", "[::1]:1", "a.localhost"]) {
      const out = html(`![x](https://${host}/run)`);
      expect(out).not.toMatch(/<img|href/);
      expect(out).toContain("not loaded");
    }
    expect(html("![x](http://example.org/a.png)")).not.toMatch(/<img|href/);
  });

  it("cannot make formulas that link or run", async () => {
    const holder = await finished("$\\href{javascript:alert(1)}{x}$ and $\\class{scrim}{y}$");
    expect(holder.innerHTML).not.toMatch(/href="javascript|class="scrim"/);
  });
});

describe("Markdown", () => {
  it("draws formulas as MathML", async () => {
    const holder = await finished("Euler: $e^{i\\pi} = -1$\n\n$$\\sum_k x_k$$\n\n\\begin{align} a &= b \\end{align}");

    expect(holder.querySelectorAll("math")).toHaveLength(3);
    expect(holder.querySelectorAll(".eq")).toHaveLength(2);
  });

  it.each([
    ["in a line", "The matrix $A=\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$ is regular."],
    ["of `Math(…)`", "$\\displaystyle \\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$"],
    ["between two dollars in a line", "The matrix $$\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}$$ is regular."],
    ["right under a line of text", "The matrix\n\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}\nis regular."],
  ])("draws an environment %s", async (_name, source) => {
    const holder = await finished(source);
    expect(holder.querySelectorAll("math")).toHaveLength(1);
    expect(holder.querySelectorAll("mtr")).toHaveLength(2);
    const around = holder.cloneNode(true) as HTMLElement;
    for (const math of around.querySelectorAll("math")) math.remove();
    expect(around.textContent).not.toMatch(/begin|\$/);
  });

  it("does not cut a line where a formula only begins", async () => {
    const holder = await finished("a \\begin{b c\nand\n$$ d");
    expect(holder.querySelectorAll("p")).toHaveLength(1);
  });

  it("leaves money alone", async () => {
    const holder = await finished("It costs $5 and then $6, not $7.");
    expect(holder.querySelector("math")).toBeNull();
    expect(holder.textContent).toContain("$5 and then $6");
  });

  it("does not look for formulas in code", async () => {
    const holder = await finished("`$x$`\n\n```\n$$y$$\n```");
    expect(holder.querySelector("math")).toBeNull();
  });

  it("keeps a formula that it cannot read as text", async () => {
    const holder = await finished("$\\frac{1}{$");
    expect(holder.textContent).toContain("\\frac{1}{");
  });

  it("colours code of a known language", async () => {
    const holder = await finished("```python\ndef f(): pass\n```");
    expect(holder.querySelector("pre .t-kw")?.textContent).toBe("def");
  });

  it("draws an attachment that comes later when it comes, and says so when it does not", async () => {
    const holder = document.createElement("div");
    const later = (name: string): Promise<string | null> => Promise.resolve(name === "a.svg" ? "blob:x" : null);
    holder.append(renderMarkdown("![a](attachment:a.svg) ![b](attachment:b.svg)", { attachment: later }).fragment);
    expect(holder.querySelector("img[src]")).toBeNull();
    await Promise.resolve();
    await Promise.resolve();
    expect([...holder.querySelectorAll("img")].map((image) => image.getAttribute("src"))).toEqual(["blob:x"]);
    expect(holder.textContent).toContain("b (not loaded: attachment:b.svg)");
  });

  it("shows attachments from where the owner keeps them", () => {
    const out = html("![p](attachment:a%20b.png)", (name) => (name === "a b.png" ? "http://127.0.0.1:1/x" : null));
    expect(out).toContain('src="http://127.0.0.1:1/x"');
  });

  it("keeps GFM tables and task text", () => {
    expect(html("| a | b |\n|---|--:|\n| 1 | 2 |")).toContain("<th>a</th>");
  });
});

describe("headings", () => {
  it("are found outside code fences only", () => {
    expect(headings("# One\n```\n# not\n```\n## *Two* `x` [l](u)\ntext")).toEqual([
      { level: 1, text: "One" },
      { level: 2, text: "Two x l" },
    ]);
  });
});

describe("a style attribute", () => {
  it("keeps what colours text and loses what loads or moves", () => {
    expect(safeStyle("color: red; background: url(https://x); position: fixed; text-align:center")).toBe(
      "color: red; text-align: center",
    );
    expect(safeStyle("width: calc(100% * 9); background-color: image-set('x')")).toBe("width: calc(100% * 9)");
  });
});
