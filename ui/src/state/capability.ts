// What a sandbox can do, as far as the page has a control for it. A control for what a sandbox cannot do is off and says why.

import type { SandboxView } from "../platform";
import type { Notebook } from "./notebook.svelte";
import type { Workbench } from "./workbench.svelte";

/** Named as in the record of capabilities. Others are shown to the person, and nothing here hangs on them. */
export type Ability = "interrupt" | "restart" | "completion" | "survive";

const UNNAMED: Record<Ability, string> = {
  interrupt: "Code cannot be stopped in this sandbox.",
  restart: "This sandbox cannot be restarted.",
  completion: "Nothing can be asked of this sandbox while typing.",
  survive: "This sandbox ends with its notebook.",
};

/** Why a sandbox cannot do something; empty where it can. What its record does not name, it cannot do. */
export function whyNot(sandbox: SandboxView | null | undefined, ability: Ability): string {
  if (!sandbox) return "";
  const found = sandbox.capabilities.find(({ name }) => name === ability);
  if (found && found.state !== "no") return "";
  return found?.note || UNNAMED[ability];
}

export const sandboxOf = (desk: Workbench, notebook: Notebook): SandboxView | undefined =>
  desk.workspace?.sandboxes.find((sandbox) => sandbox.id === notebook.status.sandbox);

/** Asks nothing of a sandbox that cannot do it, but says so: keys and palette have no control that could be off. */
export function can(desk: Workbench, notebook: Notebook, ability: Ability): boolean {
  const reason = whyNot(sandboxOf(desk, notebook), ability);
  if (reason !== "") desk.toasts.show(reason, { level: "warn" });
  return reason === "";
}
