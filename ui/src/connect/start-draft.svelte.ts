// A sandbox on its way: what is filled in is shown to the owner, which looks and starts nothing, until the person starts it.

import { endsWhileRunning } from "../state/actions";
import { OwnerError, type Answer, type Command, type Progress, type SandboxChoice, type SurveyView } from "../platform";
import type { Workbench } from "../state/workbench.svelte";
import { fieldsToFix } from "./problems";

/** How long nothing is typed before the owner is asked, in milliseconds. */
const PAUSE_MS = 250;
/** How much of a start's log is kept. */
const LOG_LINES = 500;

type Begin = (id: number) => void;

export abstract class StartDraft {
  protected readonly desk: Workbench;
  keep = $state(false);
  survey: SurveyView | null = $state.raw(null);
  problem: OwnerError | null = $state.raw(null);
  busy: "" | "looking" | "connecting" | "starting" = $state("looking");
  /** What was said while it started, oldest first. */
  log: readonly string[] = $state.raw([]);
  share: number | null = $state(null);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;
  #request: number | null = null;

  readonly problems = $derived(this.survey?.problems ?? []);
  readonly toFix = $derived(fieldsToFix(this.problems));

  constructor(desk: Workbench) {
    this.desk = desk;
  }

  /** What would be made. */
  protected abstract get choice(): Extract<SandboxChoice, { type: "new" }>;
  /** Whether it can be started now. */
  abstract readonly isReady: boolean;

  /** Shows the owner what is filled in, once nothing was typed for a moment. */
  look(pause = PAUSE_MS): void {
    if (this.busy === "starting") return;
    this.busy = "looking";
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), pause);
  }

  async #ask(): Promise<void> {
    const document = this.desk.notebook?.id ?? null;
    await this.attempt(async (isWanted, begun) => {
      const { runtime, settings, connection } = this.choice;
      const command = { type: "survey_runtime", runtime, document, settings, ...(connection ? { connection } : {}) };
      const { survey } = await this.desk.request(command as Extract<Command, { type: "survey_runtime" }>, begun);
      if (isWanted()) this.survey = survey;
    });
  }

  readonly #begun: Begin = (id) => {
    this.#request = id;
  };

  protected async attempt(action: (isWanted: () => boolean, begun: Begin) => Promise<unknown>): Promise<void> {
    const attempt = ++this.#attempts;
    const isWanted = (): boolean => attempt === this.#attempts;
    this.problem = null;
    try {
      await action(isWanted, this.#begun);
    } catch (error) {
      if (!isWanted()) return;
      if (error instanceof OwnerError) this.problem = error;
      else this.desk.fail(error);
    } finally {
      if (isWanted()) this.#rest();
    }
  }

  #rest(): void {
    this.busy = "";
    this.share = null;
    this.#request = null;
  }

  /** Gives up what is asked for; what was filled in stays. The owner removes what was made by then. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#attempts += 1;
    if (this.#request !== null) this.desk.cancel(this.#request);
    this.#rest();
  }

  /** From a start that failed back to what was filled in. */
  again(): void {
    this.log = [];
    this.problem = null;
    this.look(0);
  }

  async start(): Promise<void> {
    const { desk } = this;
    if (!this.isReady) return;
    this.busy = "starting";
    this.log = [];
    await this.attempt(async (isWanted) => {
      const notebook = desk.notebook ?? (await desk.create());
      if (!notebook || !isWanted()) return;
      const { choice } = this;
      if (endsWhileRunning(desk, notebook)) {
        desk.overlay = { kind: "leave", notebook: notebook.id, next: choice };
        return;
      }
      const started = await this.#followed({ type: "choose_sandbox", document: notebook.id, choice }, isWanted);
      const { sandbox } = started;
      if (sandbox.kept !== this.keep) await desk.ask({ type: "keep_sandbox", sandbox: sandbox.id, keep: this.keep });
      if (isWanted()) desk.overlay = null;
    });
  }

  #followed(
    command: Extract<Command, { type: "choose_sandbox" }>,
    isWanted: () => boolean,
  ): Promise<Answer<typeof command>> {
    const told = (progress: Progress): void => {
      if (!isWanted()) return;
      this.share = progress.fraction;
      if (progress.message !== this.log.at(-1)) this.log = [...this.log, progress.message].slice(-LOG_LINES);
    };
    let over = (): void => undefined;
    const begun = (id: number): void => {
      this.#begun(id);
      over = this.desk.follow(id, told);
    };
    return this.desk.request(command, begun).finally(() => over());
  }
}
