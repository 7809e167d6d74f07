// Until when a sandbox lives, and what that costs, in few words.

import type { SandboxView } from "../platform";
import { clock, timeOfDay } from "../text/units";
import { amount, perHour } from "./account/money";

/** From so many milliseconds on the time that is left is told as short. */
const SHORT = 10 * 60_000;

export interface TimeLeft {
  readonly text: string;
  readonly short: boolean;
}

const over = (sandbox: SandboxView): boolean => sandbox.kernel.state === "stopped" || sandbox.kernel.state === "died";

/** How long it lives on, where that is known. */
export function timeLeft(sandbox: SandboxView, now: number): TimeLeft | null {
  const end = sandbox.lease?.ends_at ?? null;
  if (end === null || over(sandbox)) return null;
  const left = Math.max(0, end - now);
  return { text: clock(left), short: left < SHORT };
}

/** When it ends, and whether that can be put off. */
export function endText(sandbox: SandboxView): string {
  const lease = sandbox.lease;
  if (!lease) return "";
  const end = lease.ends_at === null ? "not reported" : timeOfDay(new Date(lease.ends_at));
  return lease.renewable || lease.note === "" ? end : `${end}. ${lease.note}`;
}

/** What it costs an hour, and at most. */
export function costText(sandbox: SandboxView): string {
  const lease = sandbox.lease;
  if (!lease) return "";
  return perHour(lease.price) + (lease.at_most ? `, at most ${amount(lease.at_most)}` : "");
}

/** How much is added when an end is put off, in milliseconds. */
const MORE = 30 * 60_000;

/** For how many seconds from now it lives once its end is put off. */
export const prolonged = (sandbox: SandboxView, now: number): number =>
  Math.ceil((Math.max(now, sandbox.lease?.ends_at ?? now) - now + MORE) / 1000);
