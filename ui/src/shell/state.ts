// The pill's states, each with its own silhouette and its one word.

import type { IconName } from "../parts/icons";
import type { PillState } from "../platform";

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
  expired: { icon: "st-expired", word: "Expired", tone: "err" },
  paused: { icon: "st-idle", word: "Paused", tone: "warn" },
  stopped: { icon: "st-expired", word: "Stopped", tone: "err" },
  died: { icon: "st-expired", word: "Stopped", tone: "err" },
};

export const stateLook = (state: PillState): StateLook => LOOKS[state];
