// What is said of a credential. Pure: "now" is passed in.

import type { ConnectionView, CredentialKind, CredentialView } from "../../platform";
import { when } from "../../text/units";

interface Look {
  /** The runtime it is for. */
  readonly runtime: string;
  readonly provider: string;
  readonly name: string;
  /** What to paste. */
  readonly ask: string;
}

export const LOOKS: Record<CredentialKind, Look> = {
  jupyter_token: {
    runtime: "jupyter",
    provider: "Jupyter server",
    name: "Jupyter token",
    ask: "The token, or the address that the server printed when it started.",
  },
  colab_link: {
    runtime: "colab",
    provider: "Google Colab",
    name: "Link token",
    ask: "A new channels link of the same page.",
  },
  kaggle_link: {
    runtime: "kaggle",
    provider: "Kaggle session",
    name: "Link token",
    ask: "A new channels link of the same page.",
  },
  kaggle_token: {
    runtime: "kaggle",
    provider: "Kaggle",
    name: "API token",
    ask: "What the file kaggle.json holds, or a token that begins with KGAT_.",
  },
  modal_pair: {
    runtime: "modal",
    provider: "Modal",
    name: "Token pair",
    ask: "Both parts, ak-… and as-…, or the whole line with modal token set.",
  },
  datalayer_key: { runtime: "datalayer", provider: "Datalayer", name: "Key", ask: "From your account's page." },
  opensandbox_key: {
    runtime: "opensandbox",
    provider: "OpenSandbox",
    name: "API key",
    ask: "The key with which the server was started.",
  },
};

/** The kinds that are added by themselves, in the order in which they are offered. */
export const ADDABLE: readonly CredentialKind[] = [
  "jupyter_token",
  "kaggle_token",
  "modal_pair",
  "datalayer_key",
  "opensandbox_key",
];

/** The connections that could use a credential of a kind. A connection to a Kaggle page takes a link, not an API token. */
export const fitting = (kind: CredentialKind, all: readonly ConnectionView[]): readonly ConnectionView[] =>
  kind === "kaggle_token" ? [] : all.filter((connection) => connection.kind === LOOKS[kind].runtime);

/** The names of the connections that use one. */
export const usersOf = (credential: CredentialView, all: readonly ConnectionView[]): readonly string[] =>
  all.filter((connection) => credential.connections.includes(connection.id)).map((connection) => connection.name);

const DAY_MS = 864e5;

function day(at: number, now: Date): string {
  const text = when(new Date(at), now);
  if (/^\d/.test(text) && text.includes(":")) return "today";
  return text === "Yesterday" ? "yesterday" : text;
}

/** "Added Tue 3 Nov, used today". */
export function history(credential: CredentialView, now: Date): string {
  const since = credential.replaced_at ?? credential.added_at;
  const added =
    since === null ? "Age not known" : `${credential.replaced_at === null ? "Added" : "Replaced"} ${day(since, now)}`;
  return `${added}, ${credential.used_at === null ? "not used yet" : `used ${day(credential.used_at, now)}`}`;
}

export interface End {
  readonly text: string;
  readonly tone: "" | "warn" | "err";
}

/** When it ends, or by when it should be replaced. */
export function endOf(credential: CredentialView, now: Date): End {
  const ends = credential.expires_at;
  if (ends !== null) {
    if (ends <= now.getTime()) return { text: "Ended", tone: "err" };
    const near = ends - now.getTime() < DAY_MS;
    return { text: `Ends ${when(new Date(ends), now)}`, tone: near ? "warn" : "" };
  }
  const by = credential.rotate_by;
  if (by === null) return { text: "not reported", tone: "" };
  return by <= now.getTime()
    ? { text: "Replace it now", tone: "warn" }
    : { text: `Rotate by ${when(new Date(by), now)}`, tone: "" };
}

/** Where it is kept, where that is not the keyring. */
export function placeOf(credential: CredentialView): End | null {
  switch (credential.place) {
    case "keyring":
      return null;
    case "memory":
      return { text: "In memory, until Sandbook ends", tone: "warn" };
    case "environment":
      return { text: `In the variable ${credential.variable ?? ""}`, tone: "" };
    case "gone":
      return { text: "Gone with the last run. Replace it to use it again.", tone: "err" };
  }
}
