// A sandbox of an account: first the key, which is saved once the cloud took it; then what is started, at which price.

import type { AccountView, RuntimeKind, SandboxChoice } from "../../platform";
import type { Workbench } from "../../state/workbench.svelte";
import { StartDraft } from "../start-draft.svelte";

export const MINUTES = 10;

const isNumber = (text: string): boolean => /^\d+(?:\.\d+)?$/.test(text);

export class AccountDraft extends StartDraft {
  readonly kind: RuntimeKind;
  key = $state("");
  address = $state("");
  /** Whether another key is written for the account that is known. */
  replacing = $state(false);
  environment: string | null = $state(null);
  minutes = $state(String(MINUTES));
  snapshot = $state("");

  readonly account: AccountView | null = $derived(
    this.desk.workspace?.accounts.find((known) => known.kind === this.kind) ?? null,
  );
  readonly connection = $derived(this.desk.workspace?.connections.find((known) => known.kind === this.kind) ?? null);
  readonly asksForKey = $derived(this.connection === null || this.replacing);
  readonly spending = $derived(this.survey?.spending ?? null);
  readonly isReady = $derived(
    this.busy === "" &&
      !this.asksForKey &&
      this.survey?.readiness.state === "ready" &&
      this.toFix === 0 &&
      this.spending !== null,
  );

  constructor(desk: Workbench, kind: RuntimeKind) {
    super(desk);
    this.kind = kind;
    this.busy = "";
  }

  /** What the runtime is told. */
  get settings(): Record<string, unknown> {
    const [minutes, snapshot] = [this.minutes.trim(), this.snapshot.trim()];
    return {
      ...(this.environment === null ? {} : { environment: this.environment }),
      ...(minutes === "" ? {} : { minutes: isNumber(minutes) ? Number(minutes) : minutes }),
      ...(snapshot === "" ? {} : { snapshot }),
    };
  }

  protected get choice(): Extract<SandboxChoice, { type: "new" }> {
    const connection = this.connection?.id;
    return { type: "new", runtime: this.kind, settings: this.settings, ...(connection ? { connection } : {}) };
  }

  /** Saves the key, or the one of the environment where none is written, once the cloud took it. */
  async connect(plainHttp = false): Promise<void> {
    const { desk, kind } = this;
    const [key, address] = [this.key.trim(), this.address.trim()];
    this.busy = "connecting";
    await this.attempt(async (isWanted, begun) => {
      const known = this.connection;
      if (known && key !== "") {
        await desk.request({ type: "store_credential", connection: known.id, secret: key }, begun);
      } else {
        const written = { key: key === "" ? null : key, address: address === "" ? null : address };
        await desk.request(
          { type: "connect_account", runtime: kind, name: null, plain_http: plainHttp, ...written },
          begun,
        );
      }
      if (!isWanted()) return;
      this.key = "";
      this.replacing = false;
    });
    if (this.problem === null && this.connection !== null) this.look(0);
  }

  /** Forgets the account and its key. */
  async remove(): Promise<void> {
    const known = this.connection;
    if (!known) return;
    await this.desk.ask({ type: "remove_connection", connection: known.id });
    this.survey = null;
    this.replacing = false;
  }
}
