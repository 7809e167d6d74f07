// The screen of a Modal sandbox: the pair goes in once, prices are estimates and say so, and the most is on the button.

import { screen, within } from "@testing-library/svelte";
import axe from "axe-core";
import { expect, it } from "vitest";

import { settingsOf } from "../src/connect/account/modal/settings";
import { partsOf, startLabel } from "../src/connect/account/money";
import type { AccountView, Command, ConnectionView, SpendingView, SurveyView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const account: AccountView = {
  kind: "modal",
  title: "Modal",
  mark: "Mo",
  address: "https://api.modal.com/",
  own_server: false,
  importable: "the profile work in ~/.modal.toml",
  capabilities: [{ name: "execute", state: "yes", note: "" }],
};

const connection: ConnectionView = {
  id: "m1",
  kind: "modal",
  name: "Modal",
  display_url: "https://api.modal.com/",
  kernel_id: null,
  readiness: { state: "ready", reason: "Modal takes the token pair" },
  has_credential: true,
  plain_http: false,
  trusted_fingerprint: null,
};

const price = (value: number) => ({ per_hour: { value, unit: "USD" }, estimated: "2026-10-08" });

type Survey = Extract<Command, { type: "survey_runtime" }>;

function look({ settings }: Survey): SurveyView {
  const {
    gpu,
    longest_life = 3600,
    packages = [],
  } = settings as Record<string, unknown> & {
    gpu?: string;
    longest_life?: number;
    packages?: string[];
  };
  const hour = gpu === "T4" ? 0.59 : 0;
  const spending: SpendingView = {
    offers: [
      { name: "none", title: "None", about: "", price: price(0) },
      { name: "T4", title: "T4", about: "", price: price(0.59) },
      { name: "X1", title: "X1", about: "", price: null },
    ],
    chosen: gpu ?? "none",
    seconds: longest_life,
    at_most: gpu === "X1" ? null : { value: ((hour + 0.02) * longest_life) / 3600, unit: "USD" },
    available: null,
  };
  const wrong = packages.findIndex((name) => name.startsWith("-"));
  return {
    readiness: { state: "ready", reason: "Modal takes the token pair" },
    problems: wrong < 0 ? [] : [{ setting: `packages[${wrong}]`, reason: "it is no package" }],
    folder: "/home/ana",
    cores: null,
    memory: null,
    image: null,
    warnings: [],
    spending,
    capabilities: [],
  };
}

const looked = async (): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  await settle();
};

async function opened(connections: ConnectionView[]): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView({ accounts: [account], connections }), [
    { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
  ]);
  owner.answers = (command) => {
    if (command.type === "survey_runtime") return { type: "survey", survey: look(command) };
    if (command.type === "connect_account") return { type: "connection", connection };
    return command.type === "choose_sandbox" ? { type: "sandbox", sandbox: sandboxView() } : undefined;
  };
  const page = await openPage(owner);
  page.desk.overlay = { kind: "account", runtime: "modal" };
  await looked();
  return page;
}

const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });

it("a pair is asked for, and one that was found on this computer can be taken over", async () => {
  const page = await opened([]);
  await page.user.type(screen.getByLabelText("Token pair"), "ak-1 as-2");
  await page.user.click(button("Connect"));
  await settle();
  await page.user.click(button("Use the key in the profile work in ~/.modal.toml"));
  await settle();
  const sent = page.sent("connect_account") as Extract<Command, { type: "connect_account" }>[];
  expect(sent.map(({ key, runtime }) => [key, runtime])).toEqual([
    ["ak-1 as-2", "modal"],
    [null, "modal"],
  ]);
});

it("the most that it can cost is on the button, as an estimate, and a price that nobody knows is said to be unknown", async () => {
  const page = await opened([connection]);
  const dialog = within(screen.getByRole("dialog"));
  expect(button("Start, up to $0.02")).toHaveProperty("disabled", false);
  expect(dialog.getByText(/from the prices of 2026-10-08/)).toBeTruthy();
  await page.user.click(screen.getByRole("radio", { name: /T4/ }));
  const packages = screen.getByRole("textbox", { name: "Packages" });
  await page.user.type(packages, "torch==2.4.1\n-bad");
  await looked();
  expect(dialog.getByText("It is no package.")).toBeTruthy();
  expect(button("Start, up to $0.61")).toHaveProperty("disabled", true);
  await page.user.clear(packages);
  await page.user.type(packages, "torch==2.4.1");
  const life = screen.getByRole("textbox", { name: "Stops after" });
  await page.user.clear(life);
  await page.user.type(life, "120");
  await looked();
  expect(page.sent("choose_sandbox")).toEqual([]);
  await page.user.click(button("Start, up to $1.22"));
  await settle();
  const settings = { gpu: "T4", packages: ["torch==2.4.1"], longest_life: 7200, idle_timeout: 900, network: "inherit" };
  expect(page.sent("choose_sandbox")).toMatchObject([
    { document: "d1", choice: { type: "new", runtime: "modal", connection: "m1", settings } },
  ]);
});

it("what is empty is left to the runtime, and what is no number is sent as it stands", () => {
  const empty = { gpu: "none", cpu: "", memory: " ", image: "", packages: "\n", life: "", idle: "", hosts: ["a.org"] };
  expect(settingsOf({ ...empty, network: "none" })).toEqual({ network: "none" });
  const full = { ...empty, cpu: "2", memory: "512 MiB", life: "x", idle: "0", network: "allowlist" as const };
  expect(settingsOf(full)).toEqual({
    cpu: 2,
    memory: "512 MiB",
    longest_life: "x",
    idle_timeout: 0,
    network: "allowlist",
    allowed_hosts: ["a.org"],
  });
});

it("the parts of a price add up", () => {
  const spending = look({ settings: { gpu: "T4" } } as unknown as Survey).spending;
  const parts = partsOf(spending);
  expect(parts?.offer.value).toBeCloseTo(0.59);
  expect(parts?.rest?.value).toBeCloseTo(0.02);
  expect(startLabel(look({ settings: { gpu: "X1" } } as unknown as Survey).spending)).toBe("Start, price not reported");
});

it("has no flaw that a screen reader would meet", async () => {
  await opened([connection]);
  const found = await axe.run(screen.getByRole("dialog"), { rules: { "color-contrast": { enabled: false } } });
  expect(found.violations).toEqual([]);
});
