// No screen has a defect that axe can see. Contrast is measured over the tokens in contrast.test.ts: jsdom paints nothing.
import axe from "axe-core";
import { describe, expect, it } from "vitest";

import { SCENES } from "./fixture/scenes";
import { type OpenPage, openPage, settle } from "./page";

async function violations(): Promise<string[]> {
  const result = await axe.run(document.body, {
    rules: { "color-contrast": { enabled: false }, region: { enabled: false } },
  });
  return result.violations.flatMap((violation) =>
    violation.nodes.map((node) => `${violation.id}: ${node.html.slice(0, 160)}`),
  );
}

const open = (scene: string): Promise<OpenPage> => {
  const make = SCENES[scene];
  if (!make) throw new Error(`no scene ${scene}`);
  return openPage(make());
};

describe("axe finds nothing", () => {
  it.each(["start", "empty", "workbench", "outputs", "died", "reconnecting", "new"])(
    "on the screen %s",
    async (scene) => {
      await open(scene);
      expect(await violations()).toEqual([]);
    },
  );

  it.each([
    ["palette", { kind: "palette", query: "run" }],
    ["keyboard list", { kind: "shortcuts" }],
    ["connect dialog", { kind: "connect", connection: null }],
    ["connect dialog of a known server", { kind: "connect", connection: "k1" }],
    ["choice of a sandbox", { kind: "sandbox" }],
    ["open dialog", { kind: "open" }],
    ["save dialog", { kind: "save-as", resource: null, name: "a.ipynb" }],
    ["close question", { kind: "close", notebook: "d1" }],
    ["restart question", { kind: "restart", runAll: true }],
    ["stop question", { kind: "stop-sandbox", sandbox: "s1" }],
    ["question after a change on disk", { kind: "changed-on-disk" }],
  ] as const)("in the %s", async (_name, overlay) => {
    const { desk } = await open("workbench");
    desk.overlay = overlay;
    await settle();
    expect(document.querySelector("[aria-modal=true]")).not.toBeNull();
    expect(await violations()).toEqual([]);
  });

  it("in settings, find and logs", async () => {
    const { desk } = await open("workbench");
    desk.find.show(true);
    desk.layout.bottom = "logs";
    await settle();
    expect(await violations()).toEqual([]);
    for (const section of ["Appearance", "Notebook", "Runtimes", "Credentials"]) {
      desk.settingsOpen = true;
      desk.settingsSection = section;
      desk.tab = "settings";
      await settle();
      expect(await violations()).toEqual([]);
    }
  });

  it("while a cell is edited", async () => {
    const { notebook } = await open("workbench");
    const cell = notebook().cells[1];
    if (cell) notebook().select(cell, "edit");
    await settle();
    expect(document.querySelector(".cm-editor")).not.toBeNull();
    expect(await violations()).toEqual([]);
  });
});
