// The page's own root: the conversation with the owner, the open notebooks, and what lies on top of them.

import {
  Conversation,
  OwnerError,
  type Answer,
  type Command,
  type DocumentSnapshot,
  type DocumentStatus,
  type Link,
  type LogLine,
  type Platform,
  type Progress,
  type Push,
  type RuntimeKind,
  type SandboxChoice,
  type Settings,
  type Toast,
  type WorkspaceView,
} from "../platform";
import { spokenCell } from "../text/cell";
import type { Cell } from "./cell.svelte";
import { Find } from "./find.svelte";
import { Layout } from "./layout.svelte";
import { Gap, Notebook, type Effect } from "./notebook.svelte";
import { Announcer, type ToastAction, Toasts } from "./toasts.svelte";

export type Overlay =
  | { readonly kind: "palette"; readonly query: string }
  | { readonly kind: "shortcuts" }
  | { readonly kind: "connect"; readonly connection: string | null; readonly runtime?: RuntimeKind }
  | { readonly kind: "fresh-link"; readonly connection: string }
  | { readonly kind: "container" }
  | { readonly kind: "account"; readonly runtime: RuntimeKind; readonly address?: string }
  | { readonly kind: "sandbox" }
  | { readonly kind: "open" }
  | { readonly kind: "save-as"; readonly resource: string | null; readonly name: string }
  | { readonly kind: "close"; readonly notebook: string }
  | { readonly kind: "leave"; readonly notebook: string; readonly next: SandboxChoice | null }
  | { readonly kind: "restart"; readonly runAll: boolean }
  | { readonly kind: "stop-sandbox"; readonly sandbox: string }
  | { readonly kind: "changed-on-disk" };

/** "start", "settings", or the id of a document. */
export type Tab = string;

const LOG_LINES = 2000;
const UNSEEN_MS = 500;

export class Workbench {
  readonly platform: Platform;
  readonly toasts = new Toasts();
  readonly announcer = new Announcer();
  readonly layout = new Layout();
  readonly find = new Find();

  link: Link = $state.raw({ state: "connecting", attempt: 0 });
  /** Since when the owner is out of reach, in milliseconds since 1970; null while it answers. */
  lostSince: number | null = $state(null);
  workspace: WorkspaceView | null = $state.raw(null);
  notebooks: readonly Notebook[] = $state.raw([]);
  tab: Tab = $state("start");
  settingsOpen = $state(false);
  settingsSection = $state("Appearance");
  overlay: Overlay | null = $state.raw(null);
  logs: readonly LogLine[] = $state.raw([]);
  progress: Progress | null = $state.raw(null);
  /** Why a notebook could not be opened, shown as a page of its own until something else is opened. */
  unreadable: { readonly path: string; readonly error: OwnerError } | null = $state.raw(null);
  /** A notebook is on its way and will be the first thing shown: until then the page shows nothing that goes again. */
  opening = $state(false);
  readonly system: { dark: boolean; contrast: boolean } = $state({ dark: false, contrast: false });

  readonly notebook: Notebook | null = $derived(this.notebooks.find((notebook) => notebook.id === this.tab) ?? null);
  readonly settings: Settings | null = $derived(this.workspace?.settings ?? null);

  readonly #conversation: Conversation;
  #wantsLogs = false;
  /** By the kind of command that failed last, the message that says so. */
  readonly #failures = new Map<string, number>();
  readonly #followers = new Map<number, (progress: Progress) => void>();
  /** The notebook that this page was opened for, until it is asked for. */
  #asked = new URLSearchParams(location.search).get("open");
  #opened = false;
  #explained = false;

  constructor(platform: Platform) {
    this.platform = platform;
    this.opening = this.#asked !== null;
    this.#conversation = new Conversation(platform, {
      push: (push) => this.#pushed(push),
      link: (link) => this.#linked(link),
    });
  }

  start(): void {
    this.#conversation.start();
  }

  request<C extends Command>(command: C, onId?: (id: number) => void): Promise<Answer<C>> {
    return this.#conversation.request(command, onId);
  }

  cancel(id: number): void {
    this.#conversation.cancel(id);
  }

  /** Hears every report of how far a request has come, until the function that it returns is called. */
  follow(id: number, told: (progress: Progress) => void): () => void {
    this.#followers.set(id, told);
    return () => void this.#followers.delete(id);
  }

  /**
   * Sends a command whose failure is for the person to read; answers null then. What the person cancelled is no failure.
   * Once the same kind of command succeeds, what was said of an earlier failure is no longer true and goes.
   */
  async ask<C extends Command>(command: C, onId?: (id: number) => void): Promise<Answer<C> | null> {
    try {
      const answer = await this.request(command, onId);
      const told = this.#failures.get(command.type);
      if (told !== undefined) this.toasts.close(told);
      this.#failures.delete(command.type);
      return answer;
    } catch (error) {
      const told = !(error instanceof OwnerError && error.code === "cancelled");
      if (told) this.#failures.set(command.type, this.fail(error));
      return null;
    }
  }

  /** Tells the person, and answers the message's number. */
  fail(error: unknown): number {
    const known = error instanceof OwnerError;
    const text = error instanceof Error ? error.message : String(error);
    const shown = this.toasts.show(text, { level: "error", hint: known ? error.hint : "" });
    this.announcer.say(text);
    return shown;
  }

  bytes(resource: string): Promise<ArrayBuffer> {
    return this.platform.bytes(resource);
  }

  resourceUrl(resource: string): string | null {
    return this.platform.resourceUrl(resource, this.link.state === "up" ? this.link.resources : null);
  }

  get self(): string {
    return this.link.state === "up" ? this.link.client : "";
  }

  // ------------------------------------------------------------------ the conversation

  #linked(link: Link): void {
    const before = this.link.state;
    this.link = link;
    if (before === "up" && link.state !== "up") this.lostSince = Date.now();
    else if (link.state === "up") this.lostSince = null;
    for (const notebook of this.notebooks) notebook.setSignal(this.lostSince === null);
    if (link.state !== "up") return;
    if (before === "lost" || this.#opened) this.announcer.say("Connected again.");
    void this.#greet();
  }

  /** Everything that is asked first is asked at once: each answer takes its time on the way. */
  async #greet(): Promise<void> {
    const opening = this.#openAsked();
    const watching = this.#watchWorkspace();
    if (this.#wantsLogs) void this.watchLogs();
    // A notebook that is opened meanwhile may not be in the list, and is not gone because of that.
    const before = this.notebooks;
    const open = await this.ask({ type: "list_documents" });
    await watching;
    const opened = await opening;
    if (!open) return;
    await this.#findAgain(before, open.documents);
    for (const [id, status] of open.documents) this.#adopt(id, status);
    for (const notebook of this.notebooks) if (notebook !== opened) void this.subscribe(notebook);
    const last = this.notebooks.at(-1);
    if (!this.#opened && last && this.tab === "start") this.tab = last.id;
    this.#opened = true;
  }

  async #watchWorkspace(): Promise<void> {
    const answer = await this.ask({ type: "watch_workspace" });
    if (answer) this.workspace = answer.workspace;
  }

  /** Opens the notebook that this page was opened for. Only once: a page that is drawn anew shows what is open by then. */
  async #openAsked(): Promise<Notebook | null> {
    const path = this.#asked;
    if (path === null) return null;
    this.#asked = null;
    history.replaceState(null, "", location.pathname);
    const notebook = await this.open(path);
    this.opening = false;
    return notebook;
  }

  /** An owner that started again gives documents other ids: what this page shows is the same file. */
  async #findAgain(before: readonly Notebook[], open: readonly (readonly [string, DocumentStatus])[]): Promise<void> {
    const alive = new Set(open.map(([id]) => id));
    for (const notebook of before) {
      if (alive.has(notebook.id)) continue;
      const { path, title } = notebook.status;
      const again = open.find(([id, it]) => it.path === path && it.title === title && !this.#byId(id))?.[0];
      const id = again ?? (path === null ? null : (await this.ask({ type: "open_document", path }))?.document);
      if (id == null || this.#byId(id)) {
        this.#forget(notebook.id);
        continue;
      }
      const shown = this.tab === notebook.id;
      notebook.moveTo(id);
      if (shown) this.tab = id;
    }
  }

  #load(snapshot: DocumentSnapshot): void {
    const notebook = this.#byId(snapshot.document);
    if (!notebook) return;
    const { active, halted } = notebook;
    const left = notebook.load(snapshot);
    if (active && notebook.halted && !halted) this.#sayTakenAway(active);
    for (const cell of left) {
      if (cell === active && notebook.halted) continue;
      this.toasts.show("What was typed last in a cell did not arrive, and the cell is another one now.", {
        level: "error",
        hint: "Copy the text to put it where it belongs.",
        actions: [this.#copying(cell)],
      });
    }
  }

  #sayTakenAway(cell: Cell): void {
    const text = "The cell you were typing in is gone: somebody else removed it, or its file was read again.";
    const hint = "Keys start nothing until you press Escape or click.";
    this.toasts.show(text, { level: "error", hint, actions: [this.#copying(cell)] });
    this.announcer.say(`${text} ${hint}`);
  }

  #copying(cell: Cell): ToastAction {
    return { label: "Copy the text", run: () => void navigator.clipboard?.writeText(cell.text) };
  }

  #pushed(push: Push): void {
    switch (push.type) {
      case "snapshot":
        this.#load(push.snapshot);
        this.#conversation.acknowledge(push.snapshot.document, push.snapshot.sequence);
        this.#byId(push.snapshot.document)?.cells.forEach((cell) => {
          const notebook = this.#byId(push.snapshot.document);
          if (notebook && cell.source.unsent) this.pump(notebook, cell);
        });
        break;
      case "patches": {
        const notebook = this.#byId(push.batch.document);
        if (notebook?.loaded) this.#apply(notebook, push.batch);
        break;
      }
      case "document_closed":
        this.#forget(push.document);
        break;
      case "workspace":
        this.workspace = push.workspace;
        break;
      case "logs":
        this.logs = [...this.logs, ...push.lines].slice(-LOG_LINES);
        break;
      case "progress":
        this.progress = push.progress;
        this.#followers.get(push.progress.request)?.(push.progress);
        break;
      case "open_requested":
        void this.open(push.path);
        break;
      case "toast":
        this.showToast(push.toast);
        break;
    }
  }

  #apply(notebook: Notebook, batch: Extract<Push, { type: "patches" }>["batch"]): void {
    let effects: Effect[];
    try {
      effects = notebook.apply(batch, this.self);
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      void this.subscribe(notebook);
      return;
    }
    for (const effect of effects) this.#take(notebook, effect);
    // Acknowledged once it can be seen, so that a slow page gets fewer and larger batches.
    // A page that is out of sight draws no frames; it takes its time instead.
    const seen = (): void => this.#conversation.acknowledge(batch.document, batch.sequence);
    if (document.hidden) setTimeout(seen, UNSEEN_MS);
    else requestAnimationFrame(seen);
  }

  #take(notebook: Notebook, effect: Effect): void {
    switch (effect.type) {
      case "acknowledged":
        this.pump(notebook, effect.cell);
        break;
      case "toast":
        this.showToast(effect.toast);
        break;
      case "taken_away":
        this.#sayTakenAway(effect.cell);
        break;
      case "ended":
        this.announcer.say(`${spokenCell(effect.cell, notebook.indexOf(effect.cell) + 1)}.`);
        break;
      case "next_input": {
        const cell = notebook.cell(effect.cell);
        if (!cell || !notebook.asked.has(effect.cell)) break;
        const index = notebook.indexOf(cell) + 1;
        void this.ask({ type: "insert_cell", document: notebook.id, index, kind: "code", source: effect.text });
        break;
      }
    }
  }

  showToast(toast: Toast): void {
    this.toasts.show(toast.message, { level: toast.level, hint: toast.error?.hint ?? "" });
    this.announcer.say(toast.message);
  }

  /** How to get out of an editor without a pointer, said once. */
  explainEditor(): void {
    if (this.#explained) return;
    this.#explained = true;
    this.announcer.say("Tab indents here. Press Escape, then Tab, to leave the editor.");
  }

  async watchLogs(): Promise<void> {
    this.#wantsLogs = true;
    const logs = await this.ask({ type: "watch_logs" });
    if (logs) this.logs = logs.lines.slice(-LOG_LINES);
  }

  // ------------------------------------------------------------------ notebooks

  #byId(id: string): Notebook | undefined {
    return this.notebooks.find((notebook) => notebook.id === id);
  }

  #adopt(id: string, status: Notebook["status"]): Notebook {
    const known = this.#byId(id);
    if (known) return known;
    const notebook = new Notebook(id, status);
    this.notebooks = [...this.notebooks, notebook];
    return notebook;
  }

  #forget(id: string): void {
    const at = this.notebooks.findIndex((notebook) => notebook.id === id);
    if (at < 0) return;
    this.notebooks = this.notebooks.filter((notebook) => notebook.id !== id);
    if (this.tab === id) this.tab = (this.notebooks[at] ?? this.notebooks[at - 1])?.id ?? "start";
  }

  subscribe(notebook: Notebook): Promise<unknown> {
    return this.ask({ type: "subscribe", document: notebook.id });
  }

  async open(path: string): Promise<Notebook | null> {
    try {
      const answer = await this.request({ type: "open_document", path });
      return await this.#show(answer);
    } catch (error) {
      if (error instanceof OwnerError && ["not_a_notebook", "file_unreadable"].includes(error.code)) {
        this.unreadable = { path, error };
        this.tab = "unreadable";
      } else {
        this.fail(error);
      }
      return null;
    }
  }

  async create(): Promise<Notebook | null> {
    const answer = await this.ask({ type: "new_document" });
    return answer ? this.#show(answer) : null;
  }

  async #show(answer: Extract<Answer<{ type: "new_document" }>, { type: "document" }>): Promise<Notebook> {
    const known = this.#byId(answer.document);
    const notebook = known ?? this.#adopt(answer.document, answer.status);
    this.unreadable = null;
    this.tab = notebook.id;
    if (!known) await this.subscribe(notebook);
    return notebook;
  }

  async close(notebook: Notebook, discard: boolean): Promise<void> {
    if (await this.ask({ type: "close_document", document: notebook.id, discard })) this.#forget(notebook.id);
  }

  /** Sends what was typed in a cell, one edit at a time. */
  pump(notebook: Notebook, cell: Cell): void {
    const taken = cell.takeEdits();
    if (!taken) return;
    notebook.changes += 1;
    this.request({
      type: "edit_source",
      document: notebook.id,
      cell: cell.key,
      base_revision: taken.base,
      edits: taken.edits,
    }).catch((error: unknown) => {
      // A cut is mended by the next hello; anything else means that this page's idea of the text is out of date.
      if (error instanceof OwnerError && error.code === "unreachable") return;
      if (!(error instanceof OwnerError && error.code === "stale_revision")) this.fail(error);
      void this.subscribe(notebook);
    });
  }
}
