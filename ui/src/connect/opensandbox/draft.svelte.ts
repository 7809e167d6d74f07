// A sandbox of an OpenSandbox server: first the server, which is saved once it answered; then what is started there.

import type { AccountView, ConnectionView, SandboxChoice } from "../../platform";
import type { Workbench } from "../../state/workbench.svelte";
import { StartDraft } from "../start-draft.svelte";
import { settingsOf } from "./settings";

export const MINUTES = 30;
const KIND = "opensandbox";

export class OpenSandboxDraft extends StartDraft {
  key = $state("");
  address = $state("");
  /** Whether a server is written: another one, or another key for one that is known. */
  writing = $state(false);
  chosen: string | null = $state(null);
  image = $state("");
  entrypoint = $state("");
  minutes = $state(String(MINUTES));
  cpu = $state("");
  memory = $state("");
  throughServer = $state(false);

  readonly account: AccountView | null = $derived(
    this.desk.workspace?.accounts.find(({ kind }) => kind === KIND) ?? null,
  );
  readonly servers: readonly ConnectionView[] = $derived(
    (this.desk.workspace?.connections ?? []).filter(({ kind }) => kind === KIND),
  );
  readonly connection = $derived(this.servers.find(({ id }) => id === this.chosen) ?? this.servers[0] ?? null);
  readonly asksForServer = $derived(this.connection === null || this.writing);
  readonly isReady = $derived(
    this.busy === "" && !this.asksForServer && this.survey?.readiness.state === "ready" && this.toFix === 0,
  );
  readonly settings = $derived.by(() => {
    const { image, entrypoint, minutes, cpu, memory, throughServer } = this;
    return settingsOf({ image, entrypoint, minutes, cpu, memory, throughServer });
  });

  constructor(desk: Workbench, address: string | null) {
    super(desk);
    this.busy = "";
    if (address === null) return;
    const known = this.servers.find((server) => server.display_url === address);
    if (known) this.chosen = known.id;
    else this.write(address);
  }

  protected get choice(): Extract<SandboxChoice, { type: "new" }> {
    const connection = this.connection?.id;
    return { type: "new", runtime: KIND, settings: this.settings, ...(connection ? { connection } : {}) };
  }

  /** To the fields of a server: another one, or one that is known. */
  write(address: string): void {
    this.stop();
    this.address = address;
    this.key = "";
    this.problem = null;
    this.writing = true;
  }

  choose(id: string): void {
    this.stop();
    this.chosen = id;
    this.writing = false;
    this.survey = null;
    this.look(0);
  }

  /** Saves the server once it answered, and its key once it was taken. */
  async connect(plainHttp = false): Promise<void> {
    const { desk } = this;
    const [key, address] = [this.key.trim(), this.address.trim()];
    const known = this.servers.find((server) => server.display_url === address);
    this.busy = "connecting";
    await this.attempt(async (isWanted, begun) => {
      let id = known?.id ?? null;
      if (known && key !== "") {
        await desk.request({ type: "store_credential", connection: known.id, secret: key }, begun);
      } else {
        const written = { key: key === "" ? null : key, address: address === "" ? null : address };
        const command = {
          type: "connect_account",
          runtime: KIND,
          name: null,
          plain_http: plainHttp,
          ...written,
        } as const;
        id = (await desk.request(command, begun)).connection.id;
      }
      if (!isWanted()) return;
      this.key = "";
      this.chosen = id;
      this.writing = false;
      this.survey = null;
    });
    if (this.problem === null && !this.asksForServer) this.look(0);
  }

  /** Forgets the server and its key. */
  async remove(): Promise<void> {
    const known = this.connection;
    if (!known) return;
    this.stop();
    await this.desk.ask({ type: "remove_connection", connection: known.id });
    this.survey = null;
    this.writing = false;
  }
}
