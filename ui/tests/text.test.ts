import { describe, expect, it } from "vitest";

import { planFold } from "../src/text/fold";
import { parseFrames, libraryOf, sections } from "../src/text/traceback";
import { clock, duration, size, spokenDuration, when } from "../src/text/units";
import { TRACEBACK } from "./fixture/scenes";

describe("folding", () => {
  it("shows everything up to 200 lines", () => {
    expect(planFold(200, 0)).toEqual({ head: 200, hidden: 0, tail: 0 });
  });
  it("keeps the first four and the last three of more", () => {
    expect(planFold(8921, 0)).toEqual({ head: 4, hidden: 8914, tail: 3 });
  });
  it("grows by what the person asks for, until nothing is hidden", () => {
    expect(planFold(500, 200)).toEqual({ head: 204, hidden: 293, tail: 3 });
    expect(planFold(500, 493)).toEqual({ head: 500, hidden: 0, tail: 0 });
    expect(planFold(500, Infinity)).toEqual({ head: 500, hidden: 0, tail: 0 });
  });
});

describe("a traceback", () => {
  const frames = parseFrames(TRACEBACK, "KeyError");

  it("keeps the person's frames open and folds what lies in libraries", () => {
    const parts = sections(frames);
    expect(parts.map((part) => part.kind)).toEqual(["frames", "folded"]);
    expect(parts[1]).toMatchObject({ library: "pandas", frames: [{}, {}] });
  });

  it("knows the cell and the line", () => {
    expect(frames[0]).toMatchObject({ cell: 9, line: 3, library: null });
    expect(frames[1]).toMatchObject({ line: 88, library: null });
  });

  it("leaves the summary to the line above it", () => {
    expect(frames.at(-1)?.lines.join("\n")).not.toContain("'windspeed'");
  });

  it("reads an older form", () => {
    const old = parseFrames(
      [
        "---------------------------------------------------------------------------",
        "ZeroDivisionError                         Traceback (most recent call last)",
        "<ipython-input-4-9e1622b385b6> in <module>\n----> 1 1/0\n",
        "ZeroDivisionError: division by zero",
      ],
      "ZeroDivisionError",
    );
    expect(old).toMatchObject([{ cell: 4, line: 1 }]);
  });

  it("keeps text that is no traceback", () => {
    expect(parseFrames(["boom", "at line 3"], "Error")[0]?.lines).toEqual(["boom", "at line 3"]);
  });

  it("tells a library's file from the person's", () => {
    expect(libraryOf("/x/site-packages/numpy/core/a.py")).toBe("numpy");
    expect(libraryOf("/usr/lib/python3.12/json/decoder.py")).toBe("json");
    expect(libraryOf("<frozen importlib._bootstrap>")).toBe("Python");
    expect(libraryOf("~/projects/lib/mine.py")).toBeNull();
  });
});

describe("numbers in words", () => {
  it("writes times as the design does", () => {
    expect([610, 7300, 151_000, 5_460_000].map(duration)).toEqual(["0.61 s", "7.3 s", "2:31", "1 h 31 m"]);
    expect(clock(18_400)).toBe("0:18");
    expect(duration(59_990)).toBe("0:59");
  });
  it("says times in words", () => {
    expect([40, 352_000, 3_600_000, 5_460_000].map(spokenDuration)).toEqual([
      "0.04 seconds",
      "5 minutes 52 seconds",
      "1 hour",
      "1 hour 31 minutes",
    ]);
  });
  it("writes sizes in decimal units", () => {
    expect([0, 300, 212_000, 4_100_000, 999_600, 1_100_000_000].map(size)).toEqual([
      "0 B",
      "300 B",
      "212 KB",
      "4.1 MB",
      "1.0 MB",
      "1.1 GB",
    ]);
  });
  it("writes dates by how far away they are", () => {
    const now = new Date(2024, 11, 10, 12, 0);
    expect(when(new Date(2024, 11, 10, 10, 42), now)).toBe("10:42");
    expect(when(new Date(2024, 11, 9, 23, 59), now)).toBe("Yesterday");
    expect(when(new Date(2024, 11, 3, 1, 0), now)).toBe("Tue 3 Dec");
    expect(when(new Date(2023, 11, 3), now)).toBe("3 Dec 2023");
  });
});
