// What a kind of runtime is as a choice, and what a person has to know of it before choosing.

import type { AccountView, ConnectionView, RuntimeKind, RuntimeView, SandboxChoice, WorkspaceView } from "../platform";

/** A new sandbox there, as the runtime makes it by itself. */
export function startOf(runtime: RuntimeView): SandboxChoice {
  const kernel = runtime.kernels[0];
  if (runtime.kind === "jupyter" && kernel) return { type: "kernel_here", kernel: kernel.name };
  return { type: "new", runtime: runtime.kind, settings: null };
}

/** The same with the notebook's folder, where a runtime sees no files unless a person grants them. */
export function grantOf(runtime: RuntimeView): SandboxChoice | null {
  if (runtime.kind !== "monty") return null;
  return { type: "new", runtime: runtime.kind, settings: { folder: "write" } };
}

/** Whether there is something to say and to agree to before a start: then a screen of its own is opened, ready or not. */
export const hasScreen = (runtime: RuntimeView): boolean => runtime.kind === "docker";

/** Whether one click starts something there. */
export const canStart = (runtime: RuntimeView): boolean =>
  runtime.kind === "jupyter" ? runtime.kernels.length > 0 : runtime.readiness.state === "ready";

export function aboutOf(runtime: RuntimeView): string {
  const isolated = runtime.isolation?.state !== "no";
  return isolated ? runtime.readiness.reason : `not isolated, ${runtime.readiness.reason}`;
}

const isAccount = (workspace: WorkspaceView | null, kind: RuntimeKind): boolean =>
  workspace?.accounts.some((account) => account.kind === kind) ?? false;

/** The saved connections that lead to kernels. An account is none: something is made with it. */
export const serversOf = (workspace: WorkspaceView | null): readonly ConnectionView[] =>
  (workspace?.connections ?? []).filter(({ kind }) => !isAccount(workspace, kind));

/** The connection to an account of a kind, if there is one. */
export const accountOf = (workspace: WorkspaceView | null, kind: RuntimeKind): ConnectionView | null =>
  workspace?.connections.find((connection) => connection.kind === kind) ?? null;

/** What to do first where nothing is saved yet. */
export const invitationOf = (account: AccountView): string =>
  account.own_server ? "Say where your server is" : "Add the key of an account";
