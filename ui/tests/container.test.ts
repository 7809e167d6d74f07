// The screen of a container: the owner looks at what is filled in, and nothing is fetched or started before a person agrees.

import { screen, within } from "@testing-library/svelte";
import axe from "axe-core";
import { describe, expect, it } from "vitest";

import { type Form, fromHome, settingsOf } from "../src/connect/container/settings";
import { wrongWith } from "../src/connect/problems";
import type { Command, ProtocolError, Reply, RuntimeView, SurveyView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const docker: RuntimeView = {
  kind: "docker",
  title: "Docker container",
  mark: "Dk",
  readiness: { state: "needs_setup", reason: "The image is not on this computer." },
  isolation: { name: "isolation", state: "yes", note: "" },
  kernels: [],
};

const survey = (part: Partial<SurveyView> = {}): SurveyView => ({
  readiness: { state: "ready", reason: "Docker Engine 27.3, 8 CPU, 15 GB" },
  problems: [],
  folder: "/home/ana/projects/demand",
  cores: 8,
  memory: 16_000_000_000,
  image: { name: "sandbook/sandbox:latest", state: "present", is_built: true },
  warnings: [],
  spending: null,
  capabilities: [
    { name: "execute", state: "yes", note: "" },
    { name: "files", state: "no", note: "Files of containers are not offered yet." },
    { name: "isolation", state: "yes", note: "A container: own files, processes and limits." },
  ],
  ...part,
});

type Survey = Extract<Command, { type: "survey_runtime" }>;

async function opened(
  look: (command: Survey) => SurveyView,
  choose: () => Reply | ProtocolError | undefined = () => ({ type: "sandbox", sandbox: sandboxView() }),
): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView({ runtimes: [docker] }), [
    { id: "d1", status: documentStatus(), cells: [cellView({ source: "x" })] },
  ]);
  owner.answers = (command) => {
    if (command.type === "survey_runtime") return { type: "survey", survey: look(command) };
    return command.type === "choose_sandbox" ? choose() : undefined;
  };
  const page = await openPage(owner);
  page.desk.overlay = { kind: "container" };
  await looked();
  return page;
}

/** Longer than the pause after which the owner is asked. */
const looked = async (): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  await settle();
};

const start = (): HTMLElement => screen.getByRole("button", { name: /^(?:Start|Build and start|Pull and start)$/ });
const field = (name: string): HTMLElement => screen.getByRole("textbox", { name });

describe("what is filled in", () => {
  const form: Form = {
    image: " ",
    cpu: "1.5",
    memory: "2",
    network: "allowlist",
    hosts: ["pypi.org"],
    access: "read",
    folders: [{ source: "~/data", target: "/data", readOnly: true }],
    readOnly: true,
    obtain: false,
  };

  it("is said in the runtime's words", () => {
    expect(settingsOf(form, "/home/ana")).toEqual({
      cpu: 1.5,
      memory: "2 GB",
      network: "allowlist",
      allowed_hosts: ["pypi.org"],
      folder: "read",
      mounts: [{ source: "/home/ana/data", target: "/data", read_only: true }],
      read_only: true,
      obtain_image: false,
    });
  });

  it("is left as it is where it is no number, for the owner to refuse", () => {
    expect(settingsOf({ ...form, cpu: "two", memory: "512 MiB" }, "/h")).toMatchObject({
      cpu: "two",
      memory: "512 MiB",
    });
    expect(fromHome("~other/x", "/home/ana")).toBe("~other/x");
  });

  it("names hosts only where hosts are listed", () => {
    expect(settingsOf({ ...form, network: "none" }, "/h")).not.toHaveProperty("allowed_hosts");
  });
});

it("what is wrong with one of a list stands under the list, once", () => {
  const problems = [
    { setting: "mounts[1]", reason: "there is no such folder" },
    { setting: "mounts[0]", reason: "there is no such folder" },
    { setting: "cpu", reason: "too many" },
  ];
  expect(wrongWith(problems, "mounts")).toBe("There is no such folder.");
  expect(wrongWith(problems, "image")).toBe("");
});

it("a place that cannot be used says why, opens all the same, and is asked again", async () => {
  let state: SurveyView["readiness"] = { state: "needs_setup", reason: "You may not use the socket. Join its group." };
  const page = await opened(() => survey({ readiness: state, image: null, cores: null, memory: null }));
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByRole("alert").textContent).toContain("Join its group.");
  expect(start()).toHaveProperty("disabled", true);
  state = { state: "ready", reason: "Docker Engine 27.3, 8 CPU, 15 GB" };
  await page.user.click(screen.getByRole("button", { name: "Look again" }));
  await looked();
  expect(dialog.queryByRole("alert")).toBeNull();
  expect(screen.getByText("Docker Engine 27.3, 8 CPU, 15 GB")).toBeTruthy();
});

it("a row on the start screen opens it, also where the image is missing", async () => {
  const owner = new FixtureOwner(workspaceView({ runtimes: [docker] }));
  owner.answers = (command) => (command.type === "survey_runtime" ? { type: "survey", survey: survey() } : undefined);
  const page = await openPage(owner);
  await page.user.click(screen.getByRole("button", { name: /Docker container/ }));
  await looked();
  expect(screen.getByRole("dialog", { name: "Start a container" })).toBeTruthy();
  expect(page.sent("new_document")).toEqual([]);
});

it("a missing image is built only after the person agreed, and agreeing to one is not agreeing to another", async () => {
  const page = await opened(({ settings }) => {
    const name = (settings as { image?: string }).image ?? "sandbook/sandbox:latest";
    return survey({ image: { name, state: "missing", is_built: name.startsWith("sandbook/") } });
  });
  expect(start()).toHaveProperty("disabled", true);
  await page.user.click(screen.getByRole("checkbox", { name: /Build it here/ }));
  await looked();
  expect(page.sent("survey_runtime").at(-1)?.settings).toMatchObject({ obtain_image: true });
  expect(start().textContent).toContain("Build and start");
  await page.user.type(field("Image"), "python:3.13");
  await looked();
  expect(start()).toHaveProperty("disabled", true);
  expect(screen.getByRole("checkbox", { name: /Pull it/ }).getAttribute("aria-checked")).toBe("false");
  expect(page.sent("choose_sandbox")).toEqual([]);
});

it("a stale image is used as it is unless the person wants it anew", async () => {
  const page = await opened(() => survey({ image: { name: "i", state: "stale", is_built: true } }));
  expect(screen.getByText(/older than this version/)).toBeTruthy();
  await page.user.click(start());
  await settle();
  expect(page.sent("choose_sandbox")).toMatchObject([{ choice: { settings: { obtain_image: false } } }]);
});

it("everything that is wrong is told in its place, and counted", async () => {
  const page = await opened(({ settings }) => {
    const { cpu, mounts } = settings as { cpu?: unknown; mounts: unknown[] };
    return survey({
      problems: [
        ...(cpu === undefined ? [] : [{ setting: "cpu", reason: "the engine has only 8 cores" }]),
        ...mounts.map((_, at) => ({ setting: `mounts[${at}]`, reason: "/home/ana/.ssh holds private keys" })),
      ],
    });
  });
  await page.user.type(field("Cores"), "99");
  await page.user.click(screen.getByRole("button", { name: "Share another folder" }));
  await page.user.type(field("Folder of this computer"), "~/.ssh");
  await looked();
  expect(page.sent("survey_runtime").at(-1)?.settings).toMatchObject({
    cpu: 99,
    mounts: [{ source: "/home/ana/.ssh", target: "/data", read_only: true }],
  });
  expect(screen.getByText("2 fields need a fix")).toBeTruthy();
  expect(screen.getByText("The engine has only 8 cores.")).toBeTruthy();
  expect(field("Folder of this computer").parentElement?.className).toContain("is-bad");
  expect(start()).toHaveProperty("disabled", true);
});

it("hosts are taken in as they are typed and pasted, and go away by choice", async () => {
  const page = await opened(() => survey());
  await page.user.click(screen.getByRole("radio", { name: "Listed hosts" }));
  await page.user.type(field("Allowed host"), "pypi.org{Enter}");
  await page.user.paste("files.pythonhosted.org, pypi.org");
  await page.user.click(screen.getByRole("button", { name: "Remove pypi.org" }));
  await looked();
  expect(page.sent("survey_runtime").at(-1)?.settings).toMatchObject({
    network: "allowlist",
    allowed_hosts: ["files.pythonhosted.org"],
  });
});

it("a start shows what is said, can be stopped, and keeps what was filled in", async () => {
  const page = await opened(
    () => survey(),
    () => undefined,
  );
  page.owner.silent.add("choose_sandbox");
  await page.user.type(field("Memory"), "4");
  await looked();
  await page.user.click(start());
  await settle();
  page.owner.push({ type: "progress", progress: { request: 999, message: "of somebody else", fraction: null } });
  const request = page.owner.requestOf("choose_sandbox");
  page.owner.push({ type: "progress", progress: { request, message: "Step 1/19 : FROM python", fraction: null } });
  page.owner.push({ type: "progress", progress: { request, message: "Step 2/19 : USER root", fraction: 0.5 } });
  await settle();
  const log = screen.getByRole("log", { name: "What was said so far" });
  expect(log.textContent).toBe("Step 1/19 : FROM pythonStep 2/19 : USER root");
  expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("50");
  await page.user.click(screen.getByRole("button", { name: "Stop the start" }));
  await settle();
  expect(page.owner.cancelled).toContain("choose_sandbox");
  expect((field("Memory") as HTMLInputElement).value).toBe("4");
});

it("a start that fails says why beside its log, and the way back leads to what was filled in", async () => {
  const refused: ProtocolError = {
    code: "kernel_start_failed",
    message: "The image did not start: no matching manifest.",
    hint: "Choose another image.",
    retry: false,
  };
  const page = await opened(
    () => survey(),
    () => refused,
  );
  await page.user.click(start());
  await settle();
  const dialog = within(screen.getByRole("dialog"));
  expect(dialog.getByRole("alert").textContent).toContain("no matching manifest. Choose another image.");
  expect(field("Image")).toBeTruthy();
  expect(page.desk.overlay?.kind).toBe("container");
});

it("a container that was started can be kept from the beginning", async () => {
  const page = await opened(() => survey());
  await page.user.selectOptions(screen.getByRole("combobox", { name: "On close" }), "keep");
  await page.user.click(start());
  await settle();
  expect(page.sent("choose_sandbox")).toMatchObject([{ document: "d1", choice: { type: "new", runtime: "docker" } }]);
  expect(page.sent("keep_sandbox")).toMatchObject([{ keep: true }]);
  expect(page.desk.overlay).toBeNull();
});

it("has no accessibility fault that can be found by rules", async () => {
  const page = await opened(() => survey({ problems: [{ setting: "image", reason: "no name" }] }));
  await page.user.click(screen.getByRole("radio", { name: "Listed hosts" }));
  await page.user.click(screen.getByRole("button", { name: "Share another folder" }));
  await settle();
  const { violations } = await axe.run(screen.getByRole("dialog"), { rules: { "color-contrast": { enabled: false } } });
  expect(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])).toEqual([]);
});
