// The pill's states, each with its own silhouette and its one word.

import type { IconName } from "../parts/icons";
import type { PillState, SandboxView } from "../platform";

interface StateLook {
  readonly icon: IconName;
  readonly word: string;
  readonly tone: "" | "warn" | "err";
}

const LOOKS: Record<PillState, StateLook> = {
  starting: { icon: "st-start", word: "Starting", tone: "" },
  idle: { icon: "st-idle", word: "Idle", tone: "" },
  busy: { icon: "st-busy", word: "Busy", tone: "" },
  input: { icon: "st-input", word: "Waiting for input", tone: "warn" },
  reconnecting: { icon: "st-reconnect", word: "Reconnecting", tone: "warn" },
  stopped: { icon: "st-expired", word: "Stopped", tone: "err" },
  died: { icon: "st-expired", word: "Stopped", tone: "err" },
};

export const stateLook = (state: PillState): StateLook => LOOKS[state];

/** A kernel of this computer has its own mark, though it is the same runtime. */
export const markName = (sandbox: Pick<SandboxView, "mark" | "kind">): string =>
  sandbox.mark === "Jy" ? "kernel" : sandbox.kind;
