import { describe, expect, it } from "vitest";

import { Chunks, CHUNK } from "../src/notebook/chunks";
import { Cell } from "../src/state/cell.svelte";
import { cellView } from "./fixture/owner";

const cells = (count: number): Cell[] => Array.from({ length: count }, () => new Cell(cellView()));
const sizes = (chunks: ReturnType<Chunks["of"]>): number[] => chunks.map((chunk) => chunk.cells.length);

describe("groups of rows", () => {
  it("are filled one after the other, also when the notebook arrives in slices", () => {
    const all = cells(CHUNK * 2 + 5);
    const chunks = new Chunks();
    const first = chunks.of(all.slice(0, CHUNK + 3));
    const then = chunks.of(all);
    expect(sizes(then)).toEqual([CHUNK, CHUNK, 5]);
    expect(then[0]).toBe(first[0]);
  });

  it("take in a new cell and leave every other group alone", () => {
    const all = cells(CHUNK * 3);
    const chunks = new Chunks();
    const before = chunks.of(all);
    const [fresh] = cells(1);
    if (!fresh) throw new Error("no cell");
    const after = chunks.of(all.toSpliced(CHUNK + 7, 0, fresh));
    expect(sizes(after)).toEqual([CHUNK, CHUNK + 1, CHUNK]);
    expect(after[0]).toBe(before[0]);
    expect(after[2]).toBe(before[2]);
  });

  it("survive the loss of their first cell", () => {
    const all = cells(CHUNK * 2);
    const chunks = new Chunks();
    const before = chunks.of(all);
    const after = chunks.of(all.toSpliced(CHUNK, 1));
    expect(after.map((chunk) => chunk.id)).toEqual(before.map((chunk) => chunk.id));
  });

  it("move one row when one cell is moved", () => {
    const all = cells(CHUNK * 3);
    const chunks = new Chunks();
    const home = new Map(chunks.of(all).flatMap((chunk) => chunk.cells.map((cell) => [cell, chunk.id] as const)));
    const moved = all[CHUNK * 2 + 4];
    if (!moved) throw new Error("no cell");
    const order = all.filter((cell) => cell !== moved).toSpliced(5, 0, moved);
    const after = chunks.of(order);
    expect(after.flatMap((chunk) => chunk.cells)).toEqual(order);
    const elsewhere = after.flatMap((chunk) => chunk.cells.filter((cell) => home.get(cell) !== chunk.id));
    expect(elsewhere).toEqual([moved]);
  });

  it("always hold all cells in order, each id once", () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return seed % below;
    };
    const chunks = new Chunks();
    let order = cells(150);
    for (let step = 0; step < 200; step++) {
      const at = random(order.length);
      const what = random(3);
      if (what === 0) order = order.toSpliced(at, 0, ...cells(1 + random(50)));
      else if (what === 1 && order.length > 60) order = order.toSpliced(at, random(30));
      else {
        const [cell] = order.slice(at, at + 1);
        if (cell) order = order.filter((other) => other !== cell).toSpliced(random(order.length), 0, cell);
      }
      const now = chunks.of(order);
      expect(now.flatMap((chunk) => chunk.cells)).toEqual(order);
      expect(new Set(now.map((chunk) => chunk.id)).size).toBe(now.length);
    }
  });
});
