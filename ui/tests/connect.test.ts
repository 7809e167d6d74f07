// A token never stands readable in the dialog that adds a server.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import { mayHoldSecret, shortAddress, tokenPlace } from "../src/connect/address";
import type { ConnectionView } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, recognisedServer, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

async function dialog(): Promise<OpenPage> {
  const owner = new FixtureOwner(workspaceView());
  owner.answers = (command) =>
    command.type === "read_pasted"
      ? { type: "recognised", recognised: recognisedServer }
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
    const missing = { ...workspace, keyring: { ...workspace.keyring, state: "no_service" as const } };
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

describe("a server whose certificate changed", () => {
  const connection: ConnectionView = {
    id: "k1",
    kind: "jupyter",
    name: "lab",
    display_url: "https://h:8888/",
    readiness: { state: "not_reachable", reason: "Certificate" },
    has_credential: true,
    plain_http: false,
    trusted_fingerprint: "AA:AA",
    kernel_id: null,
  };

  async function changed(): Promise<OpenPage> {
    const owner = new FixtureOwner(workspaceView({ connections: [connection] }));
    owner.answers = (command) => {
      const isTrusted = owner.received.some((sent) => sent.type === "trust_certificate");
      if (command.type !== "list_server_kernels" || isTrusted) return undefined;
      const message = "The certificate of https://h:8888/ is not trusted: it is self-signed.";
      return { code: "certificate_untrusted", message, hint: "Compare.", retry: false, fingerprint: "BB:BB" };
    };
    const page = await openPage(owner);
    page.desk.overlay = { kind: "connect", connection: "k1" };
    await settle();
    return page;
  }

  it("shows the one that was trusted and the one of now, and trusts neither by itself", async () => {
    const page = await changed();
    const facts = [...page.root.querySelectorAll(".cd__form .facts dd")].map((fact) => fact.textContent);
    expect(facts).toEqual(["AA:AA", "BB:BB"]);
    await page.user.click(screen.getByRole("button", { name: "Check again" }));
    await settle();
    expect(page.sent("trust_certificate")).toEqual([]);
  });

  it("is trusted on demand, before a token goes there", async () => {
    const page = await changed();
    await page.user.type(screen.getByLabelText("Token"), "t");
    const trust = await screen.findByRole("button", { name: /^Trust the new certificate/ }).catch(() => null);
    expect(trust, "typing a token does not take the question away").not.toBeNull();
    if (trust) await page.user.click(trust);
    await settle();
    expect(page.sent("trust_certificate")).toMatchObject([{ connection: "k1", fingerprint: "BB:BB" }]);
    const order = page.owner.received.map((sent) => sent.type).filter((type) => /trust|store/.test(type));
    expect(order).toEqual(["trust_certificate", "store_credential"]);
    expect(page.root.querySelector(".cd__form .facts")).toBeNull();
  });
});

it("plain http to another machine is asked about, and goes out only once it is agreed to", async () => {
  const owner = new FixtureOwner(workspaceView());
  owner.answers = (command) =>
    command.type === "connect" && !command.plain_http
      ? { code: "not_encrypted", message: "Not encrypted. Nothing was sent.", hint: "Use https.", retry: false }
      : undefined;
  const page = await openPage(owner);
  page.desk.overlay = { kind: "connect", connection: null };
  await settle();
  expect(screen.queryByRole("button", { name: /^Connect unencrypted/ })).toBeNull();
  await page.user.type(screen.getByRole("textbox", { name: "Address" }), "http://h.example:8888/{Enter}");
  await settle();
  expect(page.sent("connect").map((sent) => sent.plain_http)).toEqual([false]);
  await page.user.click(screen.getByRole("button", { name: /^Connect unencrypted/ }));
  await settle();
  expect(page.sent("connect").map((sent) => sent.plain_http)).toEqual([false, true]);
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

describe("a kernel that does not start", () => {
  async function starting(): Promise<OpenPage> {
    const connection: ConnectionView = {
      id: "k1",
      kind: "jupyter",
      name: "lab",
      display_url: "http://h:8888/",
      readiness: { state: "ready", reason: "1 kernel" },
      has_credential: true,
      plain_http: false,
      trusted_fingerprint: null,
      kernel_id: null,
    };
    const owner = new FixtureOwner(workspaceView({ connections: [connection] }), [
      { id: "d1", status: documentStatus(), cells: [cellView()] },
    ]);
    owner.silent.add("choose_sandbox");
    const page = await openPage(owner);
    page.desk.overlay = { kind: "connect", connection: "k1" };
    await settle();
    await page.user.click(screen.getByRole("button", { name: "Start kernel" }));
    await settle();
    return page;
  }

  it("is given up at the owner too, by the button that says so", async () => {
    const page = await starting();
    await new Promise((resolve) => setTimeout(resolve, 3100));
    await settle();
    await page.user.click(screen.getByRole("button", { name: "Stop the start" }));
    await settle();
    expect(page.owner.cancelled).toEqual(["choose_sandbox"]);
    expect(screen.getByRole("button", { name: "Start kernel" })).toBeTruthy();
  });

  it("is given up when its dialog is cancelled", async () => {
    const page = await starting();
    await page.user.click(screen.getByRole("button", { name: "Cancel" }));
    await settle();
    expect(page.owner.cancelled).toEqual(["choose_sandbox"]);
    expect(page.desk.overlay).toBeNull();
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
    expect(page.owner.cancelled).toEqual(["connect"]);
    page.owner.silent.clear();
    await page.user.click(screen.getByRole("button", { name: "Check" }));
    await settle();
    expect(page.sent("connect")).toHaveLength(2);
    expect(screen.getByText("No answer. Start it.")).toBeTruthy();
  });
});
