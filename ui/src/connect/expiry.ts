// When the link to a sandbox ends, and what to say of it. The owner tells the moment; the clock is the page's.

import type { SandboxView } from "../platform";
import type { Overlay } from "../state/workbench.svelte";
import { clock as ticking } from "../text/units";

/** How long before its end a person is asked for a fresh link, in milliseconds. */
const WARNING_MS = 5 * 60_000;
/** How long before its end the time left is shown, in milliseconds. */
const SHOWN_MS = 10 * 60_000;

interface LinkState {
  /** Whether the link has ended already, by the word of the other side. */
  readonly over: boolean;
  /** Until it ends, in milliseconds; never less than 0. */
  readonly endsIn: number;
}

const leftOf = (sandbox: SandboxView, now: number): number | null => {
  const until = sandbox.link?.good_until ?? null;
  return until === null ? null : Math.max(0, until - now);
};

const isUsed = (sandbox: SandboxView): boolean => !["stopped", "died"].includes(sandbox.kernel.state);

/** What has to be done about the link of a sandbox; null while nothing has. */
export function linkState(sandbox: SandboxView | null, now: number): LinkState | null {
  if (!sandbox?.link || !isUsed(sandbox)) return null;
  if (sandbox.link.refused) return { over: true, endsIn: 0 };
  const left = leftOf(sandbox, now);
  return left !== null && left <= WARNING_MS ? { over: false, endsIn: left } : null;
}

/** How long the link is good for, where that is short enough to be shown all the time. */
export function shortLeft(sandbox: SandboxView, now: number): number | null {
  if (!isUsed(sandbox) || sandbox.link?.refused) return null;
  const left = leftOf(sandbox, now);
  return left !== null && left <= SHOWN_MS ? left : null;
}

/** A time until something, in words that go after "in". The latest moment may have passed unnoticed. */
export const timeUntil = (milliseconds: number): string => (milliseconds === 0 ? "any moment" : ticking(milliseconds));

/** The dialog that takes a fresh link; null where the sandbox was reached without a saved connection. */
export const freshLinkOf = (sandbox: SandboxView): Overlay | null =>
  sandbox.connection === null ? null : { kind: "fresh-link", connection: sandbox.connection };
