// A credential on its way to the owner. The secret is held here while it is typed, and let go once the owner has it or the
// person gives up.

import { OwnerError, type ConnectionId, type CredentialKind, type CredentialView } from "../../platform";
import type { Workbench } from "../../state/workbench.svelte";
import { ADDABLE, fitting, LOOKS } from "./words";

export type Keep = "keyring" | "memory" | "variable";

export class CredentialDraft {
  readonly desk: Workbench;
  /** The one that is replaced; null where one is added. */
  readonly replaced: CredentialView | null;
  kind: CredentialKind = $state("jupyter_token");
  name = $state("");
  secret = $state("");
  variable = $state("SANDBOOK_CREDENTIAL_");
  keep: Keep = $state("keyring");
  users: readonly ConnectionId[] = $state.raw([]);
  busy = $state(false);
  problem: OwnerError | null = $state.raw(null);

  readonly look = $derived.by(() => LOOKS[this.kind]);
  readonly possible = $derived.by(() => fitting(this.kind, this.desk.workspace?.connections ?? []));
  readonly complete = $derived.by(
    () => !this.busy && (this.keep === "variable" ? this.variable.trim() !== "" : this.secret.trim() !== ""),
  );

  constructor(desk: Workbench, replaced: CredentialView | null) {
    this.desk = desk;
    this.replaced = replaced;
    this.kind = replaced?.kind ?? ADDABLE[0] ?? "jupyter_token";
    if (replaced?.variable) this.variable = replaced.variable;
    const inKeyring = desk.workspace?.keyring.state === "ready";
    this.keep = replaced?.place === "environment" ? "variable" : inKeyring ? "keyring" : "memory";
  }

  choose(kind: CredentialKind): void {
    this.kind = kind;
    this.users = [];
    this.problem = null;
  }

  use(connection: ConnectionId, on: boolean): void {
    this.users = on ? [...this.users, connection] : this.users.filter((id) => id !== connection);
  }

  /** Answers the credential once it is kept. */
  async save(): Promise<CredentialView | null> {
    if (!this.complete) return null;
    this.busy = true;
    this.problem = null;
    const secret = this.keep === "variable" ? null : this.secret;
    const variable = this.keep === "variable" ? this.variable.trim() : null;
    const in_memory = this.keep === "memory";
    try {
      const { credential } = await (this.replaced
        ? this.desk.request({
            type: "replace_credential",
            credential: this.replaced.id,
            secret,
            variable,
            in_memory,
          })
        : this.desk.request({
            type: "add_credential",
            kind: this.kind,
            name: this.name.trim() || null,
            secret,
            variable,
            connections: [...this.users],
            in_memory,
          }));
      this.secret = "";
      return credential;
    } catch (error) {
      if (!(error instanceof OwnerError)) throw error;
      this.problem = error;
      return null;
    } finally {
      this.busy = false;
    }
  }
}
