// A token never stands readable in the dialog that adds a server.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import { mayHoldSecret, shortAddress, tokenPlace } from "../src/connect/address";
import { cellView, documentStatus, FixtureOwner, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

async function dialog(): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView());
  owner.answers = (command) =>
    command.type === "read_pasted"
      ? {
          type: "recognised",
          recognised: {
            pasted: "p1",
            kind: "jupyter",
            title: "Jupyter server",
            display_text: "http://h:8888/lab?token=***",
            display_url: "http://h:8888/",
            facts: [],
            gets: [],
            notebook: null,
            complete: true,
            has_secret: true,
          },
        }
      : command.type === "connect"
        ? { code: "unreachable", message: "No answer.", hint: "Start it.", retry: true }
        : undefined;
  const page = await openPage(owner);
  page.desk.overlay = { kind: "connect", connection: null };
  await settle();
  return page;
}

/** Everything that can be read in the page, the values of fields too. */
const readable = (): string =>
  document.body.innerHTML + [...document.querySelectorAll("input")].map((input) => input.value).join(" ");

describe("an address with a token", () => {
  it("is taken out of the field when it is pasted, and used", async () => {
    const page = await dialog();
    await page.user.click(screen.getByRole("textbox", { name: "Address" }));
    await page.user.paste("http://h:8888/lab?token=s3cret");
    await settle();
    expect(readable()).not.toContain("s3cret");
    expect(readable()).toContain("http://h:8888/");
    await page.user.click(screen.getByRole("button", { name: "Check" }));
    await settle();
    expect(page.sent("connect")).toMatchObject([{ pasted: "p1", address: null }]);
    expect(readable()).not.toContain("s3cret");
  });

  it("is taken out of the field when it was typed, and checked at once", async () => {
    const page = await dialog();
    await page.user.type(screen.getByRole("textbox", { name: "Address" }), "http://h:8888/?token=s3cret{Enter}");
    await settle();
    expect(readable()).not.toContain("s3cret");
    expect(page.sent("connect")).toMatchObject([{ pasted: "p1", address: null }]);
  });

  it("is forgotten when the dialog is closed, and by choice", async () => {
    const page = await dialog();
    await page.user.click(screen.getByRole("textbox", { name: "Address" }));
    await page.user.paste("http://h:8888/lab?token=s3cret");
    await settle();
    await page.user.click(screen.getByRole("button", { name: "Another address" }));
    await settle();
    expect(page.sent("dismiss_pasted")).toMatchObject([{ pasted: "p1" }]);
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Address" }).value).toBe("");
  });
});

it("an address without one is used as it is", async () => {
  const page = await dialog();
  await page.user.type(screen.getByRole("textbox", { name: "Address" }), "http://h:8888/{Enter}");
  await settle();
  expect(page.sent("read_pasted")).toEqual([]);
  expect(page.sent("connect")).toMatchObject([{ pasted: null, address: "http://h:8888/" }]);
});

it("a typed token is masked, and nothing shows it", async () => {
  await dialog();
  expect(screen.getByLabelText<HTMLInputElement>("Token").type).toBe("password");
  expect(screen.queryByRole("button", { name: /Show/ })).toBeNull();
});

it.each([
  ["http://h:8888/?token=x", true],
  ["http://user:pw@h/", true],
  ["jupyter lab http://h/ token", true],
  ["https://kkb-production.jupyter-proxy.kaggle.net/k/1/eyJ/proxy/api", true],
  ["http://h:8888/lab", false],
  ["localhost", false],
])("%s may hold a token: %s", (text, may) => {
  expect(mayHoldSecret(text)).toBe(may);
});

describe("where a token is kept", () => {
  it("is said as it is: in the keyring where one runs, else in memory", () => {
    const workspace = workspaceView();
    const ready = { ...workspace, keyring: { ...workspace.keyring, state: "ready" as const } };
    const missing = { ...workspace, keyring: { ...workspace.keyring, state: "needs_setup" as const } };
    expect(tokenPlace(ready)).toBe("in the keyring");
    expect(tokenPlace(missing)).toBe("in memory, until Sandbook ends");
  });
});

it("a certificate that is not trusted shows its fingerprint, and that one is trusted on demand", async () => {
  const owner = new FixtureOwner(workspaceView());
  owner.answers = (command) =>
    command.type === "connect"
      ? {
          code: "certificate_untrusted",
          message: "The certificate of https://h:8888/ is not trusted: it is self-signed.",
          hint: "Compare.",
          retry: false,
          fingerprint: "AB:CD",
        }
      : undefined;
  const page = await openPage(owner);
  page.desk.overlay = { kind: "connect", connection: null };
  await settle();
  await page.user.type(screen.getByRole("textbox", { name: "Address" }), "https://h:8888/{Enter}");
  await settle();
  expect(readable()).toContain("AB:CD");
  await page.user.click(screen.getByRole("button", { name: /^Trust this certificate/ }));
  await settle();
  expect(page.sent("connect").map((sent) => sent.trust_fingerprint)).toEqual([null, "AB:CD"]);
});

describe("a server's address where room is short", () => {
  it.each([
    ["http://127.0.0.1:8888/", "127.0.0.1:8888"],
    ["https://jupyter.example.org/user/ana/", "jupyter.example.org/user/ana"],
    ["this computer", "this computer"],
    ["http://", "http://"],
  ])("%s is %s", (whole, short) => expect(shortAddress(whole)).toBe(short));

  it("is whole in the pill's title", async () => {
    const address = "https://jupyter.example.org:8443/user/ana/";
    const owner = new FixtureOwner(workspaceView({ sandboxes: [sandboxView({ title: "hub", subtitle: address })] }), [
      { id: "d1", status: documentStatus({ sandbox: "s1" }), cells: [cellView()] },
    ]);
    const page = await openPage(owner);
    const pill = page.root.querySelector<HTMLElement>(".pill");
    expect(pill?.querySelector("i")?.textContent).toBe("jupyter.example.org:8443/user/ana");
    expect(pill?.title).toBe(`hub, ${address}`);
  });
});

describe("a server that accepts and never answers", () => {
  it("is said to be slow after three seconds, and can be given up", async () => {
    const page = await dialog();
    page.owner.silent.add("connect");
    await page.user.type(screen.getByRole("textbox", { name: "Address" }), "http://h:8888/{Enter}");
    await settle();
    expect(screen.getByRole("button", { name: "Checking…" })).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Stop waiting" })).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 3100));
    await settle();
    expect(screen.getByText(/^No answer yet\./)).toBeTruthy();
    await page.user.click(screen.getByRole("button", { name: "Stop waiting" }));
    await settle();
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "Check" }));
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Address" }).value).toBe("http://h:8888/");
    expect(screen.queryByText(/^No answer yet\./)).toBeNull();
    page.owner.silent.clear();
    await page.user.click(screen.getByRole("button", { name: "Check" }));
    await settle();
    expect(page.sent("connect")).toHaveLength(2);
    expect(screen.getByText("No answer. Start it.")).toBeTruthy();
  });
});
