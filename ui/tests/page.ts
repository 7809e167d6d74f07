// The whole page over the fixture's owner.

import { render } from "@testing-library/svelte";
import userEvent from "@testing-library/user-event";
import { tick } from "svelte";

import App from "../src/App.svelte";
import type { Command } from "../src/platform";
import type { Notebook } from "../src/state/notebook.svelte";
import { Workbench } from "../src/state/workbench.svelte";
import type { FixtureOwner } from "./fixture/owner";

export interface OpenPage {
  readonly desk: Workbench;
  readonly owner: FixtureOwner;
  readonly user: ReturnType<typeof userEvent.setup>;
  readonly root: HTMLElement;
  readonly notebook: () => Notebook;
  /** The commands of one type that the owner got. */
  readonly sent: <T extends Command["type"]>(type: T) => Extract<Command, { type: T }>[];
}

/** Lets everything that was started come to rest: microtasks, frames, effects. */
export async function settle(rounds = 8): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await tick();
  }
}

export async function openPage(owner: FixtureOwner): Promise<OpenPage> {
  localStorage.clear();
  document.body.replaceChildren();
  const desk = new Workbench(owner.platform());
  const { container } = render(App, { props: { desk } });
  desk.start();
  await settle(12);
  return {
    desk,
    owner,
    user: userEvent.setup(),
    root: container,
    notebook: () => {
      if (!desk.notebook) throw new Error("no notebook is open");
      return desk.notebook;
    },
    sent: (type) => owner.received.filter((c): c is Extract<Command, { type: typeof type }> => c.type === type),
  };
}

export const rows = (page: OpenPage): HTMLElement[] => [...page.root.querySelectorAll<HTMLElement>("article.cell")];

export async function focusRow(page: OpenPage, index: number): Promise<void> {
  const cell = page.notebook().cells[index];
  if (cell) page.notebook().select(cell);
  await settle(3);
  rows(page)[index]?.focus();
}
