// Kernels of clouds' open pages: joined by a link whose secret is never readable, and gone on with over a fresh one.
import { screen } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import { stepsIn } from "../src/connect/cloud";
import { linkState, shortLeft, timeUntil } from "../src/connect/expiry";
import type { CloudView, Command, ConnectionView, LinkView, ProtocolError, Recognised } from "../src/platform";
import { cellView, documentStatus, FixtureOwner, recognisedServer, workspaceView } from "./fixture/owner";
import { sandboxView } from "./fixture/scenes";
import { openPage, settle, type OpenPage } from "./page";

const SECRET = "s3cret-of-a-link";
const LINK = `wss://8080-m-s-3hq7.prod.colab.dev/api/kernels/8c41/channels?colab-runtime-proxy-token=${SECRET}`;

const recognisedLink: Recognised = {
  ...recognisedServer,
  kind: "colab",
  title: "Google Colab kernel",
  display_text: LINK.replace(SECRET, "***"),
  display_url: "https://8080-m-s-3hq7.prod.colab.dev/",
  facts: [
    { label: "Host", value: "8080-m-s-3hq7.prod.colab.dev", good: true },
    { label: "Kernel", value: "8c41", good: true },
    { label: "Check", value: "Complete", good: true },
  ],
};

const clouds: CloudView[] = [
  {
    kind: "colab",
    title: "Google Colab",
    mark: "Co",
    capabilities: [
      { name: "execute", state: "yes", note: "" },
      { name: "files", state: "no", note: "Not offered yet." },
    ],
  },
  { kind: "kaggle", title: "Kaggle", mark: "Ka", capabilities: [] },
];

const connection: ConnectionView = {
  id: "c1",
  kind: "colab",
  name: "drift",
  display_url: "https://8080-m-s-3hq7.prod.colab.dev/",
  kernel_id: "8c41",
  readiness: { state: "ready", reason: "The kernel of the Colab tab is idle" },
  has_credential: true,
  plain_http: false,
  trusted_fingerprint: null,
};

type Answers = NonNullable<FixtureOwner["answers"]>;

const usual: Answers = (command) =>
  command.type === "read_pasted"
    ? { type: "recognised", recognised: recognisedLink }
    : command.type === "connect"
      ? { type: "connection", connection }
      : undefined;

async function pageWith(answers: Answers, link: LinkView | null = null): Promise<OpenPage> {
  const sandbox = sandboxView({ kind: "colab", mark: "Co", title: "drift", connection: "c1", link });
  const owner = new FixtureOwner(
    workspaceView({ clouds, connections: link ? [connection] : [], sandboxes: link ? [sandbox] : [] }),
    [{ id: "d1", status: documentStatus({ sandbox: link ? "s1" : null }), cells: [cellView()] }],
  );
  owner.answers = (command: Command) => answers(command) ?? usual(command);
  return openPage(owner);
}

async function dialog(answers: Answers = () => undefined, runtime: "colab" | "kaggle" = "colab"): Promise<OpenPage> {
  const page = await pageWith(answers);
  page.desk.overlay = { kind: "connect", connection: null, runtime };
  await settle();
  return page;
}

async function paste(page: OpenPage, text = LINK): Promise<void> {
  await page.user.click(screen.getByRole("textbox", { name: "Channels link" }));
  await page.user.paste(text);
  await settle();
}

/** Everything that can be read in the page, the values of fields too. */
const readable = (): string =>
  document.body.innerHTML + [...document.querySelectorAll("input")].map((input) => input.value).join(" ");

const button = (name: string): HTMLButtonElement => screen.getByRole<HTMLButtonElement>("button", { name });

const refused: ProtocolError = {
  code: "credential_refused",
  message: "Colab refused this link (401).",
  hint: "Copy a new channels link from the same page.",
  retry: false,
};

describe("a pasted channels link", () => {
  it("is masked before it is painted, says what it is, and becomes a joined kernel with one click", async () => {
    const page = await dialog();
    expect(button("Connect").disabled).toBe(true);
    await paste(page);
    expect(readable()).not.toContain(SECRET);
    expect(screen.getByRole("textbox", { name: "Channels link" }).textContent).toContain("proxy-token=hidden");
    expect(screen.getByText("8c41")).toBeTruthy();
    await page.user.click(button("Connect"));
    await settle();
    expect(page.sent("connect")).toMatchObject([{ pasted: "p1", address: null, runtime: "colab", token: null }]);
    expect(page.sent("choose_sandbox")).toMatchObject([
      { choice: { type: "attach_on_server", connection: "c1", kernel: "8c41", shared: true } },
    ]);
  });

  it("that is refused says why under the field, and another one is pasted over it", async () => {
    const page = await dialog((command) => (command.type === "connect" ? refused : undefined));
    await paste(page);
    await page.user.click(button("Connect"));
    await settle();
    const field = screen.getByRole("textbox", { name: "Channels link" });
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(document.getElementById(field.getAttribute("aria-describedby") ?? "")?.textContent).toContain("(401)");
    expect(button("Connect").disabled).toBe(true);
    expect(screen.getByText("Paste a new link to continue")).toBeTruthy();
    field.focus();
    await page.user.paste(LINK);
    await settle();
    expect(page.sent("dismiss_pasted")).toMatchObject([{ pasted: "p1" }]);
    expect(button("Connect").disabled).toBe(false);
  });

  it.each([
    [
      "of another kind of place",
      { kind: "kaggle", title: "Kaggle session" },
      /not a link of Google Colab.*Kaggle session/,
    ],
    [
      "that lacks something",
      { complete: false, facts: [{ label: "Check", value: "The link holds no token", good: false }] },
      /The link holds no token/,
    ],
  ] as const)("%s cannot be connected with, and says so", async (_, part, words) => {
    const page = await dialog((command) =>
      command.type === "read_pasted"
        ? {
            type: "recognised",
            recognised: { ...recognisedLink, ...part, facts: [...("facts" in part ? part.facts : [])] },
          }
        : undefined,
    );
    await paste(page);
    expect(document.querySelector(".field__error")?.textContent).toMatch(words);
    expect(button("Connect").disabled).toBe(true);
    expect(page.sent("connect")).toEqual([]);
  });

  it("is forgotten when the dialog is closed", async () => {
    const page = await dialog();
    await paste(page);
    await page.user.click(button("Cancel"));
    await settle();
    expect(page.sent("dismiss_pasted")).toMatchObject([{ pasted: "p1" }]);
  });

  it("can be found by three steps", async () => {
    const page = await dialog();
    await page.user.click(button("Where to find the link"));
    expect(screen.getAllByRole("listitem").map((step) => step.textContent)).toHaveLength(3);
  });
});

describe("filled in by hand", () => {
  it("address, kernel and token are sent, and the token is masked", async () => {
    const page = await dialog();
    await page.user.click(screen.getByRole("radio", { name: "Fill in by hand" }));
    await page.user.type(screen.getByRole("textbox", { name: "Address" }), "https://m.prod.colab.dev/");
    await page.user.type(screen.getByRole("textbox", { name: "Kernel" }), "8c41");
    expect(button("Connect").disabled).toBe(true);
    const token = screen.getByLabelText<HTMLInputElement>("Token");
    expect(token.type).toBe("password");
    await page.user.type(token, SECRET);
    await page.user.click(button("Connect"));
    await settle();
    expect(page.sent("connect")).toMatchObject([
      { pasted: null, address: "https://m.prod.colab.dev/", kernel: "8c41", token: SECRET, runtime: "colab" },
    ]);
    expect(readable()).not.toContain(SECRET);
  });

  it("an address whose path holds a secret is taken out of the field at once", async () => {
    const address = "https://kkb-production.jupyter-proxy.kaggle.net/k/12/***/proxy/";
    const recognised: Recognised = { ...recognisedLink, kind: "kaggle", display_url: address, display_text: address };
    const page = await dialog(
      (command) => (command.type === "read_pasted" ? { type: "recognised", recognised } : undefined),
      "kaggle",
    );
    await page.user.click(screen.getByRole("radio", { name: "Fill in by hand" }));
    await page.user.click(screen.getByRole("textbox", { name: "Address" }));
    await page.user.paste(address.replace("***", SECRET));
    await settle();
    expect(readable()).not.toContain(SECRET);
    await page.user.click(button("Connect"));
    await settle();
    expect(page.sent("connect")).toMatchObject([{ pasted: "p1", address: null, kernel: null, runtime: "kaggle" }]);
  });
});

it("what one gets is the runtime's own word", async () => {
  await dialog();
  const gets = document.querySelector(".cd__sum .caps")?.textContent?.replace(/\s+/g, " ") ?? "";
  expect(gets).toContain("Files");
  expect(gets).toContain("Not offered yet.");
  expect(gets).toContain("an hour at most");
});

it("the places are a list of tabs, and the focus stays in it when another is chosen", async () => {
  const page = await dialog();
  await page.user.click(screen.getByRole("tab", { name: /Kaggle/ }));
  await settle();
  expect(screen.getByRole("heading", { name: "Connect to Kaggle" })).toBeTruthy();
  expect(document.activeElement).toBe(screen.getByRole("tab", { name: /Kaggle/ }));
  await page.user.click(screen.getByRole("tab", { name: /New server/ }));
  await settle();
  expect(screen.getByRole("heading", { name: "Add a Jupyter server" })).toBeTruthy();
});

const banner = (): string => document.querySelector(".banner")?.textContent?.replace(/\s+/g, " ") ?? "";

describe("a link that ends", () => {
  it("in less than five minutes is told with what stays, and shown in the pill", async () => {
    await pageWith(() => undefined, { good_until: Date.now() + 272_500, refused: false });
    expect(banner()).toMatch(/The link to drift ends in 4:3\d/);
    expect(banner()).toContain("what runs goes on");
    expect(document.querySelector(".pill__c1")?.textContent).toMatch(/link 4:3\d/);
  });

  it("later than that is not talked about", async () => {
    await pageWith(() => undefined, { good_until: Date.now() + 1_000_000, refused: false });
    expect(banner()).toBe("");
    expect(document.querySelector(".pill__c1")).toBeNull();
  });

  it("and was refused is replaced by a fresh one, in the same kernel", async () => {
    const page = await pageWith(() => undefined, { good_until: null, refused: true });
    expect(banner()).toContain("The link to drift is not taken any more.");
    await page.user.click(button("Paste a fresh link…"));
    await settle();
    await paste(page);
    expect(readable()).not.toContain(SECRET);
    await page.user.click(button("Go on with this link"));
    await settle();
    expect(page.sent("renew_link")).toMatchObject([{ connection: "c1", pasted: "p1" }]);
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  it("stays where the fresh one is refused as well, and the dialog says why", async () => {
    const page = await pageWith((command) => (command.type === "renew_link" ? refused : undefined), {
      good_until: null,
      refused: true,
    });
    await page.user.click(button("Paste a fresh link…"));
    await settle();
    await paste(page);
    await page.user.click(button("Go on with this link"));
    await settle();
    expect(screen.getByRole("dialog").textContent).toContain("(401)");
  });

  it.each([
    [{ good_until: 400_001, refused: false }, "idle", null, 300_001],
    [{ good_until: 400_000, refused: false }, "idle", { over: false, endsIn: 300_000 }, 300_000],
    [{ good_until: 400_000, refused: false }, "stopped", null, null],
    [{ good_until: 1, refused: false }, "idle", { over: false, endsIn: 0 }, 0],
    [{ good_until: null, refused: false }, "idle", null, null],
    [{ good_until: null, refused: true }, "expired", { over: true, endsIn: 0 }, null],
    [{ good_until: null, refused: true }, "died", null, null],
  ] as const)("%o of a kernel that is %s", (link, state, expected, shown) => {
    const before = sandboxView();
    const sandbox = { ...before, link, kernel: { ...before.kernel, state } };
    expect(linkState(sandbox, 100_000)).toEqual(expected);
    expect(shortLeft(sandbox, 100_000)).toEqual(shown);
  });

  it("at a moment that has passed ends any moment", () => {
    expect(timeUntil(0)).toBe("any moment");
    expect(timeUntil(61_000)).toBe("1:01");
  });
});

it("a hint of numbered steps is told as steps, any other as it is", () => {
  expect(stepsIn("1. Press F12. 2. Run a cell. 3. Copy its URL.")).toEqual([
    "Press F12.",
    "Run a cell.",
    "Copy its URL.",
  ]);
  expect(stepsIn("Paste the address. 2. is no step.")).toEqual([]);
});
