// Credentials as a person handles them: what is told of one, and that its secret never comes back.
import { screen, within } from "@testing-library/svelte";
import { describe, expect, it } from "vitest";

import type { ConnectionView, CredentialView, KeyringView } from "../src/platform";
import { endOf, fitting, history, placeOf } from "../src/settings/credentials/words";
import { FixtureOwner, workspaceView } from "./fixture/owner";
import { openPage, settle, type OpenPage } from "./page";

const NOW = new Date(2026, 10, 30, 12, 0);
const at = (day: number, hour = 10): number => new Date(2026, 10, day, hour).getTime();

const credential = (part: Partial<CredentialView> = {}): CredentialView => ({
  id: "k1",
  name: "lab token",
  kind: "jupyter_token",
  place: "keyring",
  variable: null,
  added_at: at(3),
  replaced_at: null,
  used_at: null,
  expires_at: null,
  rotate_by: at(3) + 180 * 864e5,
  connections: ["c1"],
  ...part,
});

const connectionView = (part: Partial<ConnectionView> = {}): ConnectionView => ({
  id: "c1",
  kind: "jupyter",
  name: "lab.example.org",
  display_url: "https://lab.example.org/",
  kernel_id: null,
  readiness: { state: "ready", reason: "Python 3 can be started" },
  has_credential: true,
  plain_http: false,
  trusted_fingerprint: null,
  ...part,
});

const locked: KeyringView = { state: "locked", reason: "The keyring is locked", hint: "Unlock it." };

async function page(part: Parameters<typeof workspaceView>[0] = {}): Promise<OpenPage> {
  const owner = new FixtureOwner(
    workspaceView({
      credentials: [credential()],
      connections: [connectionView({ id: "c1", name: "lab.example.org" })],
      ...part,
    }),
  );
  owner.answers = (command) => {
    switch (command.type) {
      case "add_credential":
      case "replace_credential":
      case "import_credential":
        return { type: "credential", credential: credential() };
      case "delete_credential":
        return { type: "credential_deleted", lost: ["lab.example.org"] };
      case "test_credential":
        return {
          type: "credential_checked",
          checks: [
            {
              connection: "c1",
              name: "lab.example.org",
              readiness: { state: "ready", reason: "Python 3 can be started" },
            },
          ],
        };
      case "list_credential_imports":
        return {
          type: "credential_imports",
          imports: [
            {
              id: "~/.kaggle/kaggle.json",
              kind: "kaggle_token",
              name: "Kaggle, ana",
              found_in: "~/.kaggle/kaggle.json",
              problem: null,
              known: false,
            },
            {
              id: "MODAL",
              kind: "modal_pair",
              name: "Modal",
              found_in: "MODAL_TOKEN_ID, MODAL_TOKEN_SECRET",
              problem: "Half of a pair: MODAL_TOKEN_SECRET is missing",
              known: false,
            },
          ],
        };
      default:
        return undefined;
    }
  };
  const opened = await openPage(owner);
  opened.desk.settingsOpen = true;
  opened.desk.settingsSection = "Credentials";
  opened.desk.tab = "settings";
  await settle();
  return opened;
}

const readable = (): string =>
  document.body.innerHTML + [...document.querySelectorAll("input")].map((input) => input.value).join(" ");

/** What is read on the page, however its lines are broken. */
const words = (): string => (document.body.textContent ?? "").replaceAll(/\s+/g, " ");

describe("what is told of a credential", () => {
  it("is its age, its last use and when it should be replaced", () => {
    expect(history(credential({ used_at: at(30) }), NOW)).toBe("Added Tue 3 Nov, used today");
    expect(history(credential({ replaced_at: at(29), used_at: null }), NOW)).toBe("Replaced yesterday, not used yet");
    expect(history(credential({ added_at: null }), NOW)).toBe("Age not known, not used yet");
    expect(endOf(credential({ rotate_by: at(3) }), NOW)).toEqual({ text: "Replace it now", tone: "warn" });
    expect(endOf(credential({ expires_at: at(30, 13) }), NOW)).toEqual({ text: "Ends 13:00", tone: "warn" });
    expect(endOf(credential({ expires_at: at(30, 11) }), NOW)).toEqual({ text: "Ended", tone: "err" });
    expect(endOf(credential({ rotate_by: null }), NOW).text).toBe("not reported");
  });

  it("is where it is kept, where that is not the keyring", () => {
    expect(placeOf(credential())).toBeNull();
    expect(placeOf(credential({ place: "memory" }))?.text).toContain("until Sandbook ends");
    expect(placeOf(credential({ place: "environment", variable: "SANDBOOK_CREDENTIAL_LAB" }))?.text).toContain("_LAB");
    expect(placeOf(credential({ place: "gone" }))?.tone).toBe("err");
  });

  it("is offered only to connections that take it", () => {
    const all = [connectionView({ id: "a", kind: "jupyter" }), connectionView({ id: "b", kind: "kaggle" })];
    expect(fitting("jupyter_token", all).map(({ id }) => id)).toEqual(["a"]);
    expect(fitting("kaggle_token", all)).toEqual([]);
  });
});

describe("the credentials", () => {
  it("are replaced by what is typed, which is then nowhere to be read", async () => {
    const { user, sent } = await page();
    await user.click(screen.getByRole("button", { name: "Replace lab token" }));
    await settle();
    const field = screen.getByLabelText("Jupyter token");
    expect(document.activeElement).toBe(field);
    expect(field.getAttribute("type")).toBe("password");
    await user.type(field, "s3cret");
    await user.click(screen.getByRole("button", { name: "Save to keyring" }));
    await settle();
    expect(sent("replace_credential")).toMatchObject([{ credential: "k1", secret: "s3cret", in_memory: false }]);
    expect(readable()).not.toContain("s3cret");
    expect(document.activeElement).toBe(screen.getByRole("heading", { name: "Credentials" }));
  });

  it("are added with their kind, their name and who uses them, by the keyboard alone", async () => {
    const { user, sent } = await page();
    screen.getByRole("button", { name: "Add a credential" }).focus();
    await user.keyboard("{Enter}");
    await settle();
    expect(document.activeElement).toBe(screen.getByLabelText("What it is for"));
    await user.tab();
    await user.keyboard("my lab");
    await user.tab();
    await user.tab();
    await user.keyboard("s3cret");
    await user.click(screen.getByRole("checkbox", { name: /lab\.example\.org/ }));
    screen.getByLabelText("Jupyter token").focus();
    await user.keyboard("{Enter}");
    await settle();
    expect(sent("add_credential")).toMatchObject([
      { kind: "jupyter_token", name: "my lab", secret: "s3cret", variable: null, connections: ["c1"] },
    ]);
  });

  it("keep the line ends of a pasted file, and show nothing of it", async () => {
    const { user, sent } = await page();
    await user.click(screen.getByRole("button", { name: "Replace lab token" }));
    await settle();
    await user.click(screen.getByLabelText("Jupyter token"));
    await user.paste("A=1\nB=s3cret\n");
    await user.click(screen.getByRole("button", { name: "Save to keyring" }));
    await settle();
    expect(sent("replace_credential")).toMatchObject([{ secret: "A=1\nB=s3cret" }]);
  });

  it("say at the field what is wrong, and keep what was typed", async () => {
    const opened = await page();
    opened.owner.answers = () => ({
      code: "credential_refused",
      message: "lab.example.org does not take it. Nothing was saved.",
      hint: "Copy it again, all of it.",
      retry: false,
    });
    await opened.user.click(screen.getByRole("button", { name: "Replace lab token" }));
    await settle();
    await opened.user.type(screen.getByLabelText("Jupyter token"), "wrong{Enter}");
    await settle();
    const field = screen.getByLabelText<HTMLInputElement>("Jupyter token");
    expect(within(screen.getByRole("form")).getByRole("alert").textContent).toContain("does not take it");
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(document.activeElement).toBe(field);
    expect(field.value).toBe("wrong");
  });

  it("are removed only after it is said which connections lose them", async () => {
    const { user, sent } = await page();
    await user.click(screen.getByRole("button", { name: "Remove lab token" }));
    await settle();
    const question = screen.getByRole("alertdialog");
    expect(question.textContent).toContain("lab.example.org");
    expect(document.activeElement).toBe(within(question).getByRole("button", { name: "Cancel" }));
    expect(sent("delete_credential")).toEqual([]);
    await user.click(within(question).getByRole("button", { name: "Remove" }));
    await settle();
    expect(sent("delete_credential")).toMatchObject([{ credential: "k1" }]);
    expect(words()).toContain("lab.example.org lost it");
  });

  it("say what came of a check", async () => {
    const { user } = await page();
    await user.click(screen.getByRole("button", { name: "Check all" }));
    await settle();
    expect(words()).toContain("lab.example.org: Python 3 can be started.");
  });
});

describe("without a keyring", () => {
  it("the missing part is named, and memory and a variable are offered", async () => {
    const { user, sent } = await page({ keyring: locked });
    expect(words()).toContain("The keyring is locked. Unlock it.");
    await user.click(screen.getByRole("button", { name: "Unlock" }));
    await settle();
    expect(sent("unlock_keyring")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Add a credential" }));
    await settle();
    expect(screen.getByRole("radio", { name: "Memory" }).getAttribute("aria-checked")).toBe("true");
    await user.type(screen.getByLabelText("Jupyter token"), "s3cret");
    await user.click(screen.getByRole("button", { name: "Keep in memory" }));
    await settle();
    expect(sent("add_credential")).toMatchObject([{ secret: "s3cret", in_memory: true }]);
    await user.click(screen.getByRole("button", { name: "Add a credential" }));
    await settle();
    await user.click(screen.getByRole("radio", { name: "Variable" }));
    await user.type(screen.getByLabelText("Variable"), "LAB");
    await user.click(screen.getByRole("button", { name: "Use the variable" }));
    await settle();
    expect(sent("add_credential")[1]).toMatchObject({ secret: null, variable: "SANDBOOK_CREDENTIAL_LAB" });
  });
});

describe("credentials of other programs", () => {
  it("are looked for when somebody asks, and taken one by one", async () => {
    const { user, sent } = await page();
    expect(sent("list_credential_imports")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Look on this computer" }));
    await settle();
    const list = screen.getByRole("list", { name: "Found on this computer" });
    expect(list.textContent).toContain("Half of a pair");
    expect(within(list).getAllByRole("button")).toHaveLength(1);
    expect(sent("import_credential")).toEqual([]);
    await user.click(within(list).getByRole("button", { name: "Take over: Kaggle, ana" }));
    await settle();
    expect(sent("import_credential")).toMatchObject([{ import: "~/.kaggle/kaggle.json", in_memory: false }]);
  });
});
