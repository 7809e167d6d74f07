// The screen of an account: the key goes in once, the price is on the button, and nothing is made before it is pressed.

import { screen, within } from "@testing-library/svelte";
import axe from "axe-core";
import { expect, it } from "vitest";

import { amount, minutesText, perHour } from "../src/connect/account/money";
import type { AccountView, Command, ConnectionView, LeaseView, SurveyView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const account: AccountView = {
  kind: "datalayer",
  title: "Datalayer",
  mark: "Dl",
  address: "https://prod1.datalayer.run/",
  own_server: false,
  importable: "DATALAYER_API_KEY",
  capabilities: [{ name: "execute", state: "yes", note: "" }],
};

const connection: ConnectionView = {
  id: "a1",
  kind: "datalayer",
  name: "Datalayer",
  display_url: "https://prod1.datalayer.run/",
  kernel_id: null,
  readiness: { state: "ready", reason: "40.00 credits left" },
  has_credential: true,
  plain_http: false,
  trusted_fingerprint: null,
};

const price = (value: number) => ({ per_hour: { value, unit: "credits" }, estimated: null });

type Survey = Extract<Command, { type: "survey_runtime" }>;

function look({ settings }: Survey): SurveyView {
  const { environment = "cpu", minutes = 10 } = settings as { environment?: string; minutes?: number };
  const most = ((environment === "gpu" ? 1800 : 60) * minutes) / 60;
  return {
    readiness: { state: "ready", reason: "40.00 credits left" },
    problems: most > 40 ? [{ setting: "minutes", reason: "it could cost more than the account has" }] : [],
    folder: "/home/ana",
    cores: null,
    memory: null,
    image: null,
    warnings: [],
    spending: {
      offers: [
        { name: "cpu", title: "Python CPU", about: "2 CPU", price: price(60) },
        { name: "gpu", title: "AI GPU", about: "1 GPU", price: price(1800) },
      ],
      chosen: environment,
      seconds: minutes * 60,
      at_most: { value: most, unit: "credits" },
      available: { value: 40, unit: "credits" },
    },
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
  page.desk.overlay = { kind: "account", runtime: "datalayer" };
  await looked();
  return page;
}

const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });

it("a key is asked for first, is sent once, and can be taken over from the environment", async () => {
  const page = await opened([]);
  expect(page.sent("survey_runtime")).toEqual([]);
  expect(button("Connect")).toHaveProperty("disabled", true);
  await page.user.type(screen.getByLabelText("Key"), "k3y");
  await page.user.click(button("Connect"));
  await settle();
  await page.user.click(button("Use the key in DATALAYER_API_KEY"));
  await settle();
  expect(page.sent("connect_account").map(({ key }) => key)).toEqual(["k3y", null]);
  expect(page.sent("choose_sandbox")).toEqual([]);
});

it("the most that it can cost is on the button, follows what is chosen, and is confirmed by it alone", async () => {
  const page = await opened([connection]);
  const dialog = within(screen.getByRole("dialog"));
  expect(button("Start, up to 10.00 credits")).toHaveProperty("disabled", false);
  expect(dialog.getByText("The account has 40.00 credits left.")).toBeTruthy();
  await page.user.click(screen.getByRole("radio", { name: /AI GPU/ }));
  await looked();
  expect(dialog.getByText("It could cost more than the account has.")).toBeTruthy();
  expect(button("Start, up to 300.00 credits")).toHaveProperty("disabled", true);
  const minutes = screen.getByRole("textbox", { name: "Stops after" });
  await page.user.clear(minutes);
  await page.user.type(minutes, "1");
  await looked();
  expect(page.sent("choose_sandbox")).toEqual([]);
  await page.user.click(button("Start, up to 30.00 credits"));
  await settle();
  const settings = { environment: "gpu", minutes: 1 };
  expect(page.sent("choose_sandbox")).toMatchObject([
    { document: "d1", choice: { type: "new", runtime: "datalayer", connection: "a1", settings } },
  ]);
});

it("has no flaw that a screen reader would meet", async () => {
  await opened([connection]);
  const found = await axe.run(screen.getByRole("dialog"), { rules: { "color-contrast": { enabled: false } } });
  expect(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`)).toEqual([]);
});

it("amounts are written with their sign or their word", () => {
  expect(amount({ value: 2.536, unit: "USD" })).toBe("$2.54");
  expect(amount({ value: 10.2, unit: "credits" })).toBe("10.20 credits");
  expect(perHour(null)).toBe("not reported");
  expect(perHour({ per_hour: { value: 1.1, unit: "USD" }, estimated: "2026-11-30" })).toBe(
    "$1.10/h, estimate, 2026-11-30",
  );
  expect([10, 60, 90, 0.5].map(minutesText)).toEqual(["10 min", "1 h", "1 h 30 min", "0.5 min"]);
});

it("the pill and its menu say what a sandbox costs, what is left, and let it pause", async () => {
  const lease: LeaseView = {
    ends_at: Date.now() + 5 * 60_000,
    price: price(60),
    at_most: { value: 10, unit: "credits" },
    renewable: false,
    note: "The end is fixed.",
  };
  const capabilities = [{ name: "pause", state: "limited", note: "" }] as const;
  const sandbox = sandboxView({ lease, capabilities: [...capabilities] });
  const owner = new FixtureOwner(workspaceView({ sandboxes: [sandbox] }), [
    { id: "d1", status: documentStatus({ sandbox: sandbox.id }), cells: [cellView({ source: "x" })] },
  ]);
  const page = await openPage(owner);
  const pill = button(/^Runtime /);
  expect(pill.textContent).toContain("60.00 credits/h");
  expect(pill.textContent).toMatch(/[45]:\d\d left/);
  await page.user.click(pill);
  const menu = within(screen.getByRole("dialog", { name: "Runtime" }));
  expect(menu.getByText(/60.00 credits\/h, at most 10.00 credits/)).toBeTruthy();
  await page.user.click(menu.getByRole("button", { name: /Pause/ }));
  await settle();
  expect(page.sent("pause_sandbox")).toMatchObject([{ sandbox: sandbox.id, pause: true }]);
});
