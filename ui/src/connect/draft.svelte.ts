// A server on its way to being one of the person's: its address is read, the server is asked, a kernel is chosen. A token is here
// only while it is being typed; an address that came with one is the owner's, and the page has what may be shown of it.

import { type Answer, type Command, OwnerError, type Recognised } from "../platform";
import { chooseSandbox } from "../state/actions";
import type { Workbench } from "../state/workbench.svelte";
import { hostOf, mayHoldSecret, noteOf } from "./address";
import type { Picked } from "./KernelPicker.svelte";

const OF_THE_ADDRESS = ["unreachable", "not_a_server", "certificate_untrusted", "not_recognised", "timed_out"];
const OF_A_KNOWN_ADDRESS = ["unreachable", "certificate_untrusted"];
const OF_THE_TOKEN = ["credential_refused", "credential_missing"];

/** What a person agrees to for one server, after they were told what it means. */
export interface Agreed {
  /** The fingerprint of a certificate that no authority vouches for. */
  readonly trust?: string;
  /** That token and code go there unencrypted. */
  readonly plainHttp?: boolean;
}

const sentence = (problem: OwnerError): string => `${problem.message} ${problem.hint}`;

/** An answer that takes longer is talked about, in milliseconds. */
const SLOW_MS = 3000;

export class ServerDraft {
  readonly #desk: Workbench;
  /** The saved connection, once there is one. */
  id: string | null = $state(null);
  address = $state("");
  token = $state("");
  name = $state("");
  busy: "" | "checking" | "starting" | "removing" = $state("");
  /** Whether the server has been asked, or has been starting the kernel, for long enough to say so. */
  slow = $state(false);
  problem: OwnerError | null = $state.raw(null);
  kernels: Answer<{ type: "list_server_kernels"; connection: string }> | null = $state.raw(null);
  picked: Picked = $state.raw({ kind: "new", kernel: null });
  /** An address that came with its token: the owner has it, the page only what may be shown. */
  taken: Recognised | null = $state.raw(null);
  #taking: Promise<void> | null = null;
  #tried = $state(false);
  /** Counts attempts: the answer to one that was given up is not taken in. */
  #attempts = 0;
  /** What the owner does for the attempt. */
  #request: number | null = null;

  readonly connection = $derived.by(() => this.#desk.workspace?.connections.find((c) => c.id === this.id) ?? null);
  readonly shownAddress = $derived(
    this.connection?.display_url ?? this.taken?.display_url ?? this.taken?.display_text ?? null,
  );
  readonly #note = $derived(noteOf(this.shownAddress ?? this.address));
  readonly addressError = $derived.by(() => {
    const { problem } = this;
    if (this.connection) return problem && OF_A_KNOWN_ADDRESS.includes(problem.code) ? sentence(problem) : "";
    if (this.#tried && this.#note === "empty") return "An address is needed, such as http://localhost:8888.";
    if (this.#tried && this.#note === "not-an-address")
      return "This is not an address. Nothing was sent. Write it as http://host:8888.";
    return problem && OF_THE_ADDRESS.includes(problem.code) ? sentence(problem) : "";
  });
  readonly tokenError = $derived(
    this.problem && OF_THE_TOKEN.includes(this.problem.code) ? sentence(this.problem) : "",
  );
  /** Whether the owner asks for leave to send token and code unencrypted. */
  readonly asksForPlainHttp = $derived(this.problem?.code === "not_encrypted");
  readonly otherError = $derived(
    this.problem && !this.addressError && !this.tokenError && !this.asksForPlainHttp ? sentence(this.problem) : "",
  );
  readonly warning = $derived(
    this.#note === "not-encrypted" || this.connection?.plain_http
      ? `This address is not encrypted. Anyone on the network between here and ${hostOf(this.shownAddress ?? this.address)} can read the token and your code. Use https or an SSH tunnel.`
      : "",
  );
  /** The fingerprint of the certificate that was refused; the person confirms that one and no other. */
  readonly fingerprint = $derived(this.problem?.fingerprint ?? "");
  /** The one that was trusted for this server before, where it shows another one now. */
  readonly before = $derived(this.fingerprint ? (this.connection?.trusted_fingerprint ?? "") : "");
  readonly ready = $derived(this.connection !== null && this.kernels !== null && this.problem === null);

  constructor(desk: Workbench, id: string | null) {
    this.#desk = desk;
    this.id = id;
  }

  /** Another saved server, or a new one. */
  turnTo(id: string | null): void {
    this.stopWaiting();
    this.kernels = null;
    this.problem = null;
    this.id = id;
  }

  async #attempt(
    kind: "checking" | "starting" | "removing",
    action: (isWanted: () => boolean) => Promise<unknown>,
  ): Promise<boolean> {
    const attempt = ++this.#attempts;
    const isWanted = (): boolean => attempt === this.#attempts;
    this.busy = kind;
    this.problem = null;
    this.slow = false;
    const timer = setTimeout(() => (this.slow = isWanted() && kind !== "removing"), SLOW_MS);
    try {
      await action(isWanted);
      return isWanted();
    } catch (error) {
      if (isWanted()) this.#failed(error);
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

  /** Gives up what the server is asked for, here and at the owner. What was typed stays. */
  stopWaiting(): void {
    if (this.busy !== "checking" && this.busy !== "starting") return;
    this.#attempts += 1;
    if (this.#request !== null) this.#desk.cancel(this.#request);
    this.#rest();
  }

  #failed(error: unknown): void {
    if (error instanceof OwnerError) this.problem = error;
    else this.#desk.fail(error);
  }

  async list(isWanted: () => boolean = () => true): Promise<void> {
    const at = this.id;
    if (at === null) return;
    const kernels = await this.#ask({ type: "list_server_kernels", connection: at });
    if (!isWanted() || this.id !== at) return;
    this.kernels = kernels;
  }

  ask(): Promise<boolean> {
    return this.#attempt("checking", (isWanted) => this.list(isWanted));
  }

  /** Takes an address that may hold a token out of the field at once, and asks the owner what may be shown of it. */
  takeIn(text: string): void {
    this.address = "";
    this.problem = null;
    this.#taking = this.#desk.request({ type: "read_pasted", text: text.trim() }).then(
      ({ recognised }) => {
        if (recognised.notebook === null) this.taken = recognised;
        else void this.#desk.ask({ type: "dismiss_pasted", pasted: recognised.pasted });
      },
      (error: unknown) => this.#failed(error),
    );
  }

  letGo(): void {
    if (this.taken) void this.#desk.ask({ type: "dismiss_pasted", pasted: this.taken.pasted });
    this.taken = null;
  }

  async check(agreed: Agreed = {}): Promise<void> {
    this.#tried = true;
    if (mayHoldSecret(this.address)) this.takeIn(this.address);
    if (this.#taking) {
      await this.#taking;
      this.#taking = null;
      if (this.problem) return;
    }
    if (this.connection && !agreed.plainHttp) await this.#checkKnown(this.connection.id, agreed.trust);
    else if (this.#note !== "empty" && this.#note !== "not-an-address") await this.#connect(agreed);
  }

  #checkKnown(connection: string, trust?: string): Promise<boolean> {
    return this.#attempt("checking", async (isWanted) => {
      if (trust) await this.#ask({ type: "trust_certificate", connection, fingerprint: trust });
      const secret = this.token;
      this.token = "";
      if (secret !== "") await this.#ask({ type: "store_credential", connection, secret });
      if (!isWanted()) return;
      await this.list(isWanted);
    });
  }

  #connect(agreed: Agreed): Promise<boolean> {
    const address = this.connection?.display_url ?? this.address.trim();
    const orNull = (text: string): string | null => (text === "" ? null : text);
    return this.#attempt("checking", async (isWanted) => {
      const answer = await this.#ask({
        type: "connect",
        pasted: this.taken?.pasted ?? null,
        address: this.taken ? null : address,
        token: orNull(this.token),
        runtime: null,
        kernel: null,
        name: orNull(this.name.trim()),
        trust_fingerprint: agreed.trust ?? null,
        plain_http: agreed.plainHttp ?? false,
      });
      if (!isWanted()) return;
      this.token = "";
      this.taken = null;
      if (this.id === answer.connection.id) await this.list(isWanted);
      else this.id = answer.connection.id;
    });
  }

  /** Starts or joins the kernel that was picked. */
  async start(): Promise<void> {
    if (!this.connection) return;
    const [connection, picked, desk] = [this.connection.id, this.picked, this.#desk];
    await this.#attempt("starting", async (isWanted) => {
      const notebook = desk.notebook ?? (await desk.create());
      if (!notebook || !isWanted()) return;
      const choice =
        picked.kind === "new"
          ? ({ type: "new_on_server", connection, kernel: picked.kernel, keep: false } as const)
          : ({
              type: "attach_on_server",
              connection,
              kernel: picked.kernel ?? "",
              shared: picked.shared ?? false,
            } as const);
      const started = await chooseSandbox(desk, notebook, choice, this.#begun);
      if (started && isWanted()) desk.overlay = null;
    });
  }

  async remove(): Promise<void> {
    if (!this.connection) return;
    const connection = this.connection.id;
    if (await this.#attempt("removing", () => this.#desk.request({ type: "remove_connection", connection })))
      this.#desk.overlay = null;
  }
}
