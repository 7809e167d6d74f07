// What is far away is drawn a slice a frame, and gives way to whoever types.
import { expect, it } from "vitest";

import { growInSlices } from "../src/notebook/slices";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { text } from "./fixture/scenes";
import { openPage, rows, settle, type OpenPage } from "./page";

const frames = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
};
const busy = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};
const calm = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

it("grows by as much as fits into a frame, until nothing is left", async () => {
  await calm();
  let grown = 0;
  growInSlices(() => {
    busy(4);
    return ++grown < 5;
  });
  await frames(2);
  expect(grown).toBeGreaterThan(0);
  expect(grown).toBeLessThan(5);
  await frames(6);
  expect(grown).toBe(5);
});

it("can be ended", async () => {
  await calm();
  let grown = 0;
  const end = growInSlices(() => {
    busy(10);
    return ++grown < 100;
  });
  await frames(2);
  end();
  const before = grown;
  await frames(3);
  expect(grown).toBe(before);
});

it.each([
  [
    "cells of a notebook",
    Array.from({ length: 400 }, () => cellView({ source: "x" })),
    (page: OpenPage): number => rows(page).length,
    400,
  ],
  [
    "outputs of a cell",
    [cellView({ source: "x", outputs: Array.from({ length: 600 }, () => text("y")) })],
    (page: OpenPage): number => page.root.querySelectorAll("[data-output]").length,
    600,
  ],
])(
  "no more %s come while somebody types, and all of them afterwards",
  async (_what, cells, count, all) => {
    // A key in every frame, before anything else is done in it, however late a frame comes.
    let typing = true;
    const type = (): void => {
      dispatchEvent(new KeyboardEvent("keydown"));
      if (typing) requestAnimationFrame(type);
    };
    type();
    const page = await openPage(new FixtureOwner(workspaceView(), [{ id: "d1", status: documentStatus(), cells }]));
    const first = count(page);
    expect(first).toBeLessThan(all);
    await settle(20);
    expect(count(page)).toBe(first);
    typing = false;
    await calm();
    await expect.poll(() => count(page), { timeout: 20_000 }).toBe(all);
  },
  30_000,
);
