// A kernel of a cloud's page on its way to this notebook, or a fresh link to one that is known. A link is read by the owner
// at once: the page has what may be shown of it, never its secret. A typed token is here only while it is being typed.

import { type Answer, type Command, type ConnectionView, OwnerError, type Recognised } from "../platform";
import { chooseSandbox } from "../state/actions";
import type { Workbench } from "../state/workbench.svelte";
import { mayHoldSecret } from "./address";
import { type Cloud, cloudOf } from "./cloud";

/** An answer that takes longer is talked about, in milliseconds. */
const SLOW_MS = 3000;

const OF_THE_LINK = ["credential_refused", "credential_missing", "not_recognised", "bad_setting"];

const sentence = (problem: OwnerError): string => `${problem.message} ${problem.hint}`;

export type How = "link" | "fields";
type Busy = "" | "reading" | "checking" | "joining" | "removing";

export class CloudDraft {
  readonly #desk: Workbench;
  readonly cloud: Cloud;
  /** The saved connection, once there is one. */
  id: string | null = $state(null);
  how: How = $state("link");
  /** What was pasted: a channels link, or an address whose path holds a secret. */
  pasted: Recognised | null = $state.raw(null);
  address = $state("");
  kernel = $state("");
  token = $state("");
  name = $state("");
  busy: Busy = $state("");
  slow = $state(false);
  problem: OwnerError | null = $state.raw(null);
  /** Whether the known connection has been found to be good. */
  checked = $state(false);
  /** Counts attempts: the answer to one that was given up is not taken in. */
  #attempts = 0;
  #request: number | null = null;

  readonly connection = $derived.by(() => this.#desk.workspace?.connections.find((c) => c.id === this.id) ?? null);
  /** Why what was pasted leads nowhere from here. */
  readonly #mismatch = $derived.by(() => {
    const { pasted } = this;
    if (!pasted || pasted.kind === this.cloud.kind) return "";
    return `This is not a link of ${this.cloud.title}, but: ${pasted.title}. Nothing was sent.`;
  });
  readonly #lacks = $derived(this.pasted?.facts.find((fact) => fact.label === "Check" && !fact.good)?.value ?? "");
  readonly linkError = $derived.by(() => {
    if (this.#mismatch) return this.#mismatch;
    if (this.pasted && !this.pasted.complete) return `${this.#lacks}. Nothing was sent.`;
    return this.problem && OF_THE_LINK.includes(this.problem.code) ? sentence(this.problem) : "";
  });
  readonly otherError = $derived(this.problem && !this.linkError ? sentence(this.problem) : "");
  readonly #filled = $derived.by(
    () =>
      (this.pasted !== null || this.address.trim() !== "") &&
      (!this.cloud.needsAll || this.pasted !== null || (this.kernel.trim() !== "" && this.token !== "")),
  );
  /** Whether there is something to connect with. */
  readonly complete = $derived(
    this.linkError === "" && (this.how === "link" ? this.pasted !== null : this.#filled) && this.busy === "",
  );

  constructor(desk: Workbench, kind: Cloud["kind"], id: string | null) {
    const cloud = cloudOf(kind);
    if (!cloud) throw new Error(`${kind} is not reached by a link`);
    this.#desk = desk;
    this.cloud = cloud;
    this.id = id;
  }

  /** Hands a text to the owner, and keeps what it says of it. */
  async read(text: string): Promise<void> {
    if (text.trim() === "") return;
    this.letGo();
    await this.#attempt("reading", async (isWanted) => {
      const { recognised } = await this.#ask({ type: "read_pasted", text: text.trim() });
      if (isWanted()) this.pasted = recognised;
      else void this.#desk.ask({ type: "dismiss_pasted", pasted: recognised.pasted });
    });
  }

  /** Takes an address that may hold a secret out of the field at once. */
  takeIn(): void {
    if (!mayHoldSecret(this.address)) return;
    const text = this.address;
    this.address = "";
    void this.read(text);
  }

  letGo(): void {
    if (this.pasted) void this.#desk.ask({ type: "dismiss_pasted", pasted: this.pasted.pasted });
    this.pasted = null;
    this.problem = null;
  }

  /** Leaves for good: nothing is waited for, and nothing is held. */
  leave(): void {
    this.stopWaiting();
    this.letGo();
    this.token = "";
  }

  /** Asks whether the known connection works. */
  async check(): Promise<boolean> {
    if (this.id === null) return false;
    return this.#attempt("checking", (isWanted) => this.#check(isWanted));
  }

  async #check(isWanted: () => boolean): Promise<void> {
    if (this.id === null) return;
    this.checked = false;
    await this.#ask({ type: "list_server_kernels", connection: this.id });
    if (isWanted()) this.checked = true;
  }

  /** Saves the connection once the kernel has answered, and joins it. */
  async connect(): Promise<void> {
    const orNull = (text: string): string | null => (text.trim() === "" ? null : text.trim());
    const byHand = this.how === "fields";
    let saved: ConnectionView | null = null;
    await this.#attempt("checking", async (isWanted) => {
      const answer = await this.#ask({
        type: "connect",
        pasted: this.pasted?.pasted ?? null,
        address: this.pasted ? null : this.address.trim(),
        token: byHand ? orNull(this.token) : null,
        runtime: this.cloud.kind,
        kernel: byHand ? orNull(this.kernel) : null,
        name: orNull(this.name),
        trust_fingerprint: null,
        plain_http: false,
      });
      if (!isWanted()) return;
      this.token = "";
      this.pasted = null;
      saved = answer.connection;
      this.id = saved.id;
      this.checked = true;
    });
    // The workspace may not have it yet.
    if (saved) await this.join(saved);
  }

  /** Goes on in the same kernel with the link that was pasted. Comes back with whether it does. */
  renew(): Promise<boolean> {
    return this.#attempt("checking", async (isWanted) => {
      if (this.id === null || !this.pasted) return;
      await this.#ask({ type: "renew_link", connection: this.id, pasted: this.pasted.pasted });
      if (!isWanted()) return;
      this.pasted = null;
      this.checked = true;
    });
  }

  /** Joins the kernel of the page, or starts one where the connection names none. */
  async join(connection = this.connection): Promise<void> {
    if (!connection) return;
    const desk = this.#desk;
    await this.#attempt("joining", async (isWanted) => {
      const notebook = desk.notebook ?? (await desk.create());
      if (!notebook || !isWanted()) return;
      const choice =
        connection.kernel_id === null
          ? ({ type: "new_on_server", connection: connection.id, kernel: null, keep: false } as const)
          : ({
              type: "attach_on_server",
              connection: connection.id,
              kernel: connection.kernel_id,
              shared: true,
            } as const);
      const started = await chooseSandbox(desk, notebook, choice, this.#begun);
      if (started && isWanted()) desk.overlay = null;
    });
  }

  async remove(): Promise<void> {
    if (this.id === null) return;
    const connection = this.id;
    if (await this.#attempt("removing", () => this.#desk.request({ type: "remove_connection", connection })))
      this.#desk.overlay = null;
  }

  /** Gives up what is asked for, here and at the owner. What was pasted stays. */
  stopWaiting(): void {
    if (this.busy === "") return;
    this.#attempts += 1;
    if (this.#request !== null) this.#desk.cancel(this.#request);
    this.#rest();
  }

  async #attempt(kind: Busy, action: (isWanted: () => boolean) => Promise<unknown>): Promise<boolean> {
    const attempt = ++this.#attempts;
    const isWanted = (): boolean => attempt === this.#attempts;
    this.busy = kind;
    this.problem = null;
    this.slow = false;
    const timer = setTimeout(() => (this.slow = isWanted()), SLOW_MS);
    try {
      await action(isWanted);
      return isWanted();
    } catch (error) {
      if (!isWanted()) return false;
      if (error instanceof OwnerError) this.problem = error;
      else this.#desk.fail(error);
      return false;
    } finally {
      clearTimeout(timer);
      if (isWanted()) this.#rest();
    }
  }

  #rest(): void {
    this.busy = "";
    this.slow = false;
    this.#request = null;
  }

  readonly #begun = (id: number): void => {
    this.#request = id;
  };

  #ask<C extends Command>(command: C): Promise<Answer<C>> {
    return this.#desk.request(command, this.#begun);
  }
}
