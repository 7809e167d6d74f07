// The tokens keep the design's floors: body text 7:1, other text 4.5:1, marks and focus 3:1.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { ratio, type Rgb } from "../src/text/contrast";

const css = readFileSync("src/styles/tokens.css", "utf8");

const rgb = (hex: string): Rgb => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;

const themes = [...css.matchAll(/([^{}]*\[data-theme="([a-z]+)"\])\s*\{([^}]*)\}/g)].map(([, , name, body]) => ({
  name: name ?? "",
  tokens: new Map(
    [...(body ?? "").matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\b/gi)].map((m) => [m[1] ?? "", rgb(m[2] ?? "")]),
  ),
}));

const SURFACES = ["surface-chrome", "surface-panel", "surface-doc", "surface-code", "surface-raised"];
const PAIRS: (readonly [string, readonly string[], number])[] = [
  ["text", [...SURFACES, "surface-selected", "surface-row"], 7],
  ["text-2", SURFACES, 4.5],
  ["text-3", [...SURFACES, "surface-selected", "surface-row"], 4.5],
  ["accent", [...SURFACES, "surface-selected"], 4.5],
  ["on-accent", ["accent", "accent-hover"], 4.5],
  ...["ok", "warn", "error", "info"].map((s) => [s, ["surface-doc", "surface-panel", `${s}-tint`], 4.5] as const),
  ...["ok-mark", "warn-mark", "error-mark", "info-mark", "focus"].map(
    (s) => [s, ["surface-doc", "surface-panel"], 3] as const,
  ),
  ...Array.from({ length: 16 }, (_, i) => [`ansi-${i}`, ["surface-doc", "surface-panel"], 4.5] as const),
  ...["keyword", "string", "number", "comment", "function", "builtin", "operator"].map(
    (s) => [`syn-${s}`, ["surface-code", "surface-edit", "surface-row", "syn-line", "syn-selection"], 4.5] as const,
  ),
];

describe.each(themes)("the $name theme", ({ tokens }) => {
  it.each(PAIRS)("keeps %s readable", (fore, backs, floor) => {
    for (const back of backs) {
      const [a, b] = [tokens.get(fore), tokens.get(back)];
      if (!a || !b) throw new Error(`${fore} or ${back} is missing`);
      expect(ratio(a, b), `${fore} on ${back}`).toBeGreaterThanOrEqual(floor);
    }
  });
});

it("finds all three themes", () => {
  expect(themes.map((theme) => theme.name)).toEqual(["light", "dark", "hc"]);
});
