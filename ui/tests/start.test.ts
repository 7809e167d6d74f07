// What a person can start, join or open again, and in what state each of them is.
import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { Readiness, ReadinessState, RuntimeView, ServerKernel } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, type OpenPage, settle } from "./page";

const WORDS: Record<ReadinessState, string> = {
  ready: "Ready",
  checking: "Checking",
  needs_setup: "Needs setup",
  needs_credential: "Needs credential",
  not_reachable: "Not reachable",
};
const STATES = Object.keys(WORDS) as ReadinessState[];

const jupyter = (readiness: Readiness, kernels: RuntimeView["kernels"] = []): RuntimeView => ({
  kind: "jupyter",
  title: "Jupyter kernel",
  mark: "Jy",
  readiness,
  isolation: null,
  kernels,
});

describe("the start screen", () => {
  it.each(STATES)("says of a server that is %s so, and why, and opens it", async (state) => {
    const connection = {
      id: "k1",
      kind: "jupyter" as const,
      name: "lab.example.org",
      display_url: "https://lab.example.org/",
      readiness: { state, reason: `Because it is ${state}` },
      has_credential: true,
      plain_http: false,
      trusted_fingerprint: null,
      kernel_id: null,
    };
    const page = await openPage(new FixtureOwner(workspaceView({ connections: [connection] })));
    const row = within(screen.getByRole("region", { name: "Your servers" })).getByRole("button", {
      name: /lab\.example/,
    });
    expect(row.querySelector(".st")?.textContent).toBe(WORDS[state]);
    expect(row.textContent).toContain(`Because it is ${state}`);
    await page.user.click(row);
    expect(page.desk.overlay).toMatchObject({ kind: "connect", connection: "k1" });
  });

  it.each(STATES)("says of a runtime of this computer that is %s so, and why", async (state) => {
    await openPage(new FixtureOwner(workspaceView({ runtimes: [jupyter({ state, reason: `Because ${state}` })] })));
    const row = within(screen.getByRole("region", { name: "On this computer" })).getByRole("button", {
      name: /Jupyter/,
    });
    expect(row.querySelector(".st")?.textContent).toBe(WORDS[state]);
    expect(row.textContent).toContain(`Because ${state}`);
  });

  it("lists what was opened before, with folder and last sandbox, and opens it", async () => {
    const recent = (name: string, last: string | null) => ({
      path: `/work/${name}.ipynb`,
      title: `${name}.ipynb`,
      folder: "~/work",
      opened_at: Date.now() - 600_000,
      last_sandbox: last,
      document: null,
      sandbox: last === null ? null : "s1",
    });
    const owner = new FixtureOwner(workspaceView({ recent: [recent("first", "Python 3.12"), recent("second", null)] }));
    owner.answers = (command) =>
      command.type === "open_document"
        ? { code: "internal", message: "By the test.", hint: "", retry: false }
        : undefined;
    const page = await openPage(owner);
    const rows = screen.getAllByRole("row").slice(1);
    expect(rows.map((row) => row.textContent?.replace(/\s+/g, " "))).toEqual([
      expect.stringMatching(/first\.ipynb.*~\/work.*Python 3\.12.*Reattach/),
      expect.stringMatching(/second\.ipynb.*~\/work.*none yet/),
    ]);
    await page.user.click(screen.getByRole("button", { name: "second.ipynb" }));
    await page.user.click(screen.getByRole("button", { name: "Reattach" }));
    await settle();
    expect(page.sent("open_document").map(({ path }) => path)).toEqual(["/work/second.ipynb", "/work/first.ipynb"]);
  });
});

describe("kernels that run on a server", () => {
  const kernel = (part: Partial<ServerKernel>): ServerKernel => ({
    id: "x",
    name: "python3",
    state: "idle",
    connections: 0,
    idle_seconds: null,
    used_by: null,
    kept: false,
    ...part,
  });
  const KERNELS = [
    kernel({ id: "a", state: "busy", connections: 1, used_by: "train.ipynb" }),
    kernel({ id: "b", connections: 0, idle_seconds: 125, kept: true }),
    kernel({ id: "c", name: "ir", connections: null }),
    kernel({ id: "d", connections: 2 }),
  ];

  async function list(): Promise<OpenPage> {
    const connection = {
      id: "k1",
      kind: "jupyter" as const,
      name: "lab",
      display_url: "https://lab/",
      readiness: { state: "ready" as const, reason: "" },
      has_credential: true,
      plain_http: false,
      trusted_fingerprint: null,
      kernel_id: null,
    };
    const owner = new FixtureOwner(workspaceView({ connections: [connection] }), [
      { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
    ]);
    owner.answers = (command) =>
      command.type === "list_server_kernels"
        ? {
            type: "server_kernels",
            running: KERNELS,
            listable: true,
            startable: [{ name: "python3", display_name: "Python 3", language: "python", origin: "" }],
          }
        : undefined;
    const page = await openPage(owner);
    page.desk.overlay = { kind: "connect", connection: "k1" };
    await settle();
    return page;
  }

  it("are listed with what each is and who uses it; a new one is what is chosen", async () => {
    await list();
    const choices = within(screen.getByRole("radiogroup", { name: "Kernel" })).getAllByRole("radio");
    expect(choices.map((choice) => choice.textContent?.trim().replace(/\s+/g, " "))).toEqual([
      "Start a new Python 3 kernel",
      "Join python3busy, 1 client attached, train.ipynb",
      "Join python3idle, nobody attached, quiet for 2:05, kept by Sandbook",
      "Join iridle",
      "Join python3idle, 2 clients attached",
    ]);
    expect(choices.map((choice) => choice.getAttribute("aria-checked"))).toEqual(["true", ...Array(4).fill("false")]);
  });

  it.each([
    [1, true],
    [2, false],
    [3, false],
    [4, true],
  ])("number %i is used by others: %s, and only then the person has to agree", async (at, used) => {
    const page = await list();
    await page.user.click(
      within(screen.getByRole("radiogroup", { name: "Kernel" })).getAllByRole("radio")[at] as Element,
    );
    await settle();
    expect(screen.queryByRole("checkbox", { name: /Others use this kernel/ }) !== null).toBe(used);
  });

  it("can be removed where Sandbook kept them, and the list is asked for again", async () => {
    const page = await list();
    expect(screen.getAllByRole("button", { name: "Remove" })).toHaveLength(1);
    const before = page.sent("list_server_kernels").length;
    await page.user.click(screen.getByRole("button", { name: "Remove" }));
    await settle();
    expect(page.sent("delete_server_kernel")).toMatchObject([{ connection: "k1", kernel: "b" }]);
    expect(page.sent("list_server_kernels").length).toBe(before + 1);
  });
});

describe("on a computer without a kernel", () => {
  const missing = jupyter({ state: "needs_setup", reason: "No kernel was found" });

  async function offer(owner: FixtureOwner): Promise<OpenPage> {
    const page = await openPage(owner);
    page.desk.overlay = { kind: "sandbox" };
    await settle();
    return page;
  }
  const withNotebook = (runtimes: RuntimeView[]): FixtureOwner =>
    new FixtureOwner(workspaceView({ runtimes }), [
      { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
    ]);
  const offered = (): HTMLElement | null => screen.queryByRole("button", { name: /Python, new environment/ });

  it("a private environment is offered, which says what it installs, and makes nothing before the person agrees", async () => {
    const page = await offer(withNotebook([missing]));
    await page.user.click(offered() as HTMLElement);
    await settle();
    expect(
      screen.getByText(/installs ipykernel and what it needs.*about 60\s+MB.*Your own Python stays/s),
    ).toBeTruthy();
    await page.user.click(within(screen.getByRole("dialog")).getAllByRole("button", { name: "Cancel" })[0] as Element);
    await settle();
    expect(page.sent("create_environment")).toEqual([]);
    expect(offered()).toBeTruthy();
  });

  it("its making is followed step by step, and the notebook runs there once it is made", async () => {
    const owner = withNotebook([missing]);
    owner.silent.add("create_environment");
    const page = await offer(owner);
    owner.push({ type: "progress", progress: { request: 1, message: "an older story", fraction: null } });
    await page.user.click(offered() as HTMLElement);
    await page.user.click(screen.getByRole("button", { name: "Make the environment" }));
    await settle();
    expect(page.sent("create_environment")).toEqual([{ type: "create_environment", python: null }]);
    expect(offered()?.textContent).toContain("Starting…");
    const request = owner.requestOf("create_environment");
    for (const message of ["Making a virtual environment", "Installing ipykernel"]) {
      owner.push({ type: "progress", progress: { request, message, fraction: null } });
      await settle(3);
      expect(offered()?.textContent).toContain(message);
      expect((offered() as HTMLButtonElement).disabled).toBe(true);
    }
    const kernel = { name: "private", display_name: "Python 3.12", language: "python", origin: "Sandbook" };
    owner.reply(request, { type: "kernel", kernel });
    await settle();
    expect(page.sent("choose_sandbox")).toMatchObject([{ choice: { type: "kernel_here", kernel: "private" } }]);
    expect(page.desk.overlay).toBeNull();
  });

  it("a making that fails is told, and offered again", async () => {
    const owner = withNotebook([missing]);
    owner.answers = (command) =>
      command.type === "create_environment"
        ? {
            code: "kernel_start_failed",
            message: "pip found no network.",
            hint: "Connect, then try again.",
            retry: true,
          }
        : undefined;
    const page = await offer(owner);
    await page.user.click(offered() as HTMLElement);
    await page.user.click(screen.getByRole("button", { name: "Make the environment" }));
    await settle();
    expect(document.body.textContent).toContain("pip found no network.");
    expect(offered()?.textContent).toContain("no kernel was found on this computer");
    expect(page.sent("choose_sandbox")).toEqual([]);
  });

  it("nothing is offered while it is still looked for one, or where there is one", async () => {
    await offer(withNotebook([jupyter({ state: "checking", reason: "" })]));
    expect(offered()).toBeNull();
    const kernel = { name: "python3", display_name: "Python 3", language: "python", origin: "/usr" };
    await offer(withNotebook([jupyter({ state: "ready", reason: "" }, [kernel])]));
    expect(offered()).toBeNull();
  });
});
