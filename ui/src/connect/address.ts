// What can be said about an address before anything is sent to it. The owner judges the rest.

import type { WorkspaceView } from "../platform";

export type AddressNote = "" | "empty" | "not-an-address" | "not-encrypted";

const LOCAL = /^(?:localhost|127(?:\.\d+){3}|\[::1\]|::1)$/i;

export function noteOf(text: string): AddressNote {
  const trimmed = text.trim();
  if (trimmed === "") return "empty";
  let url: URL;
  try {
    url = new URL(/^[a-z][\w+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`);
  } catch {
    return "not-an-address";
  }
  if (!/^https?:$/.test(url.protocol) || url.hostname === "" || /\s/.test(trimmed)) return "not-an-address";
  return url.protocol === "http:" && !LOCAL.test(url.hostname) ? "not-encrypted" : "";
}

export function hostOf(text: string): string {
  try {
    const url = new URL(/^[a-z][\w+.-]*:\/\//i.test(text.trim()) ? text.trim() : `http://${text.trim()}`);
    return url.host;
  } catch {
    return "the server";
  }
}

/** An address where room is short: the host comes first, what is the same everywhere is left out. Any other text stays itself. */
export function shortAddress(text: string): string {
  if (!/^https?:\/\//i.test(text)) return text;
  try {
    const url = new URL(text);
    return url.host + url.pathname.replace(/\/+$/, "");
  } catch {
    return text;
  }
}

/** Whether there is room for a token in an address: it has a query, a fragment, a user, or words beside it. */
export const mayHoldSecret = (text: string): boolean => /[?#@=\s]/.test(text.trim()) || /\/proxy\//i.test(text);

/** Where the owner keeps a token that it is given now. */
export const tokenPlace = (workspace: WorkspaceView | null): string =>
  workspace?.keyring.state === "ready" ? "in the keyring" : "in memory, until Sandbook ends";
