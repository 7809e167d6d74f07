// The screen of an OpenSandbox server: the server first, what lays it open, how one is started, and nothing made before "Start".

import { screen, within } from "@testing-library/svelte";
import axe from "axe-core";
import { expect, it } from "vitest";

import { commandsIn, settingsOf, wordsOf } from "../src/connect/opensandbox/settings";
import type { AccountView, Command, ConnectionView, LeaseView, SurveyView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const account: AccountView = {
  kind: "opensandbox",
  title: "OpenSandbox",
  mark: "Os",
  address: "http://localhost:8080/",
  own_server: true,
  importable: null,
  capabilities: [{ name: "execute", state: "yes", note: "" }],
};

const server = (id: string, name: string): ConnectionView => ({
  id,
  kind: "opensandbox",
  name,
  display_url: `http://${name}/`,
  kernel_id: null,
  readiness: { state: "ready", reason: "OpenSandbox 1.1.1" },
  has_credential: true,
  plain_http: false,
  trusted_fingerprint: null,
});

type Survey = Extract<Command, { type: "survey_runtime" }>;

const away =
  "OpenSandbox cannot be used: no server answers at localhost:8080. Start one in a terminal: `first`, then `second`.";

function look({ settings, connection }: Survey): SurveyView {
  const { minutes } = settings as { minutes?: number };
  return {
    readiness:
      connection === "away"
        ? { state: "not_reachable", reason: away }
        : { state: "ready", reason: "OpenSandbox 1.1.1" },
    problems: minutes === 0 ? [{ setting: "minutes", reason: "it is from 1 to 10080" }] : [],
    folder: "/home/ana",
    cores: null,
    memory: null,
    image: null,
    warnings: connection === "open" ? ["Whoever reaches it can run code there: the server has no key."] : [],
    spending: null,
    capabilities: [],
  };
}

const looked = async (): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  await settle();
};

async function opened(connections: ConnectionView[], address?: string): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView({ accounts: [account], connections }), [
    { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
  ]);
  owner.answers = (command) => {
    if (command.type === "survey_runtime") return { type: "survey", survey: look(command) };
    if (command.type === "connect_account") return { type: "connection", connection: server("new", "new:1") };
    return command.type === "choose_sandbox" ? { type: "sandbox", sandbox: sandboxView() } : undefined;
  };
  const page = await openPage(owner);
  page.desk.overlay = { kind: "account", runtime: "opensandbox", ...(address === undefined ? {} : { address }) };
  await looked();
  return page;
}

const button = (name: string | RegExp): HTMLElement => screen.getByRole("button", { name });

it("a server is asked for first, with a key or without, and nothing is looked at before it is known", async () => {
  const page = await opened([], "http://box.lan:8080/");
  expect(page.sent("survey_runtime")).toEqual([]);
  expect(screen.getByLabelText<HTMLInputElement>("Server").value).toBe("http://box.lan:8080/");
  expect(screen.getByText("Not encrypted: others on the network can read along.")).toBeTruthy();
  await page.user.click(button("Connect"));
  await settle();
  expect(page.sent("connect_account")).toMatchObject([
    { runtime: "opensandbox", address: "http://box.lan:8080/", key: null, plain_http: false },
  ]);
  expect(page.sent("choose_sandbox")).toEqual([]);
});

it("what lays a server open is said, and what is filled in is what is started", async () => {
  const page = await opened([server("safe", "safe:1"), server("open", "open:1")]);
  expect(screen.queryByText(/Whoever reaches it/)).toBeNull();
  await page.user.click(screen.getByRole("tab", { name: /open:1/ }));
  await looked();
  expect(screen.getByText(/Whoever reaches it/)).toBeTruthy();
  const minutes = screen.getByRole("textbox", { name: "Ends after" });
  await page.user.clear(minutes);
  await page.user.type(minutes, "0");
  await looked();
  expect(screen.getByText("It is from 1 to 10080.")).toBeTruthy();
  expect(button("Start")).toHaveProperty("disabled", true);
  await page.user.clear(minutes);
  await page.user.type(minutes, "45");
  await page.user.click(screen.getByRole("checkbox", { name: /through the server/ }));
  await looked();
  await page.user.click(button("Start"));
  await settle();
  expect(page.sent("choose_sandbox")).toMatchObject([
    {
      document: "d1",
      choice: {
        type: "new",
        runtime: "opensandbox",
        connection: "open",
        settings: { minutes: 45, through_server: true },
      },
    },
  ]);
});

it("where no server answers, the commands that start one are told apart to be copied", async () => {
  await opened([server("away", "localhost:8080")]);
  const alert = within(screen.getByRole("dialog")).getByRole("alert");
  expect([...alert.querySelectorAll("code")].map((code) => code.textContent)).toEqual(["first", "second"]);
  expect(button("Start")).toHaveProperty("disabled", true);
});

it("has no flaw that a screen reader would meet", async () => {
  for (const connections of [[], [server("open", "open:1")]]) {
    const page = await opened(connections);
    const found = await axe.run(screen.getByRole("dialog"), { rules: { "color-contrast": { enabled: false } } });
    expect(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`)).toEqual([]);
    page.desk.overlay = null;
    await settle();
  }
});

it("an end that can be put off is, by half an hour more than there is", async () => {
  const end = Date.now() + 5 * 60_000;
  const lease: LeaseView = { ends_at: end, price: null, at_most: null, renewable: true, note: "" };
  const sandbox = sandboxView({ lease });
  const owner = new FixtureOwner(workspaceView({ sandboxes: [sandbox] }), [
    { id: "d1", status: documentStatus({ sandbox: sandbox.id }), cells: [cellView({ source: "x" })] },
  ]);
  const page = await openPage(owner);
  await page.user.click(button(/^Runtime /));
  const menu = within(screen.getByRole("dialog", { name: "Runtime" }));
  await page.user.click(menu.getByRole("button", { name: /Extend by 30 minutes/ }));
  await settle();
  const [sent] = page.sent("prolong_sandbox") as Extract<Command, { type: "prolong_sandbox" }>[];
  expect(sent?.seconds).toBeGreaterThan(34 * 60);
  expect(sent?.seconds).toBeLessThanOrEqual(35 * 60 + 1);
});

it("the form is told in the runtime's words", () => {
  const empty = { image: "", entrypoint: "", minutes: "", cpu: "", memory: "", throughServer: false };
  expect(settingsOf(empty)).toEqual({});
  const form = { image: " a/b:1 ", entrypoint: `run "two words" 'x'`, minutes: "x", cpu: "1.5", memory: "2" };
  expect(settingsOf({ ...form, throughServer: true })).toEqual({
    image: "a/b:1",
    entrypoint: ["run", "two words", "x"],
    minutes: "x",
    cpu: 1.5,
    memory: "2 GB",
    through_server: true,
  });
  expect(wordsOf("  ")).toEqual([]);
  expect(commandsIn("Say `a b`, then.")).toEqual([
    { text: "Say ", typed: false },
    { text: "a b", typed: true },
    { text: ", then.", typed: false },
  ]);
});
