// Requests and replies matched by id, pushes handed on, and the way back after a cut: the owner keeps everything, so a page
// that lost it only has to say hello again and subscribe again.

import type { Answer } from "./answers";
import { PROTOCOL_VERSION, type Command, type ProtocolError, type Push, type ServerMessage } from "./protocol";
import { NotAllowed, type Platform, type Transport } from "./transport";

/** An error with a code to branch on, a sentence, and the next step. */
export class OwnerError extends Error {
  readonly code: ProtocolError["code"];
  readonly hint: string;
  readonly retry: boolean;
  readonly fingerprint: string | null;

  constructor(error: ProtocolError) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint;
    this.retry = error.retry;
    this.fingerprint = error.fingerprint ?? null;
  }
}

export type Link =
  | { readonly state: "connecting"; readonly attempt: number }
  | { readonly state: "up"; readonly client: string; readonly version: string; readonly resources: string | null }
  | { readonly state: "lost"; readonly reason: string; readonly attempt: number; readonly nextAt: number }
  | { readonly state: "refused"; readonly reason: string; readonly hint: string };

export interface Listener {
  readonly push: (push: Push) => void;
  readonly link: (link: Link) => void;
}

interface Waiting {
  readonly resolve: (message: Extract<ServerMessage, { type: "response" }>) => void;
  readonly reject: (error: Error) => void;
}

const CUT: ProtocolError = {
  code: "unreachable",
  message: "The connection to Sandbook's owner process was cut before it answered.",
  hint: "The page connects again by itself. Try once more then.",
  retry: true,
};

/** 0.2, 0.4, 0.8 … 5 s. The owner is on this computer, so waiting long gains nothing. */
export const backoff = (attempt: number): number => Math.min(5000, 200 * 2 ** Math.min(attempt, 8));

export class Conversation {
  readonly #platform: Platform;
  readonly #listener: Listener;
  readonly #waiting = new Map<number, Waiting>();
  #transport: Transport | null = null;
  #next = 1;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(platform: Platform, listener: Listener) {
    this.#platform = platform;
    this.#listener = listener;
  }

  start(): void {
    clearTimeout(this.#timer);
    this.#listener.link({ state: "connecting", attempt: this.#attempt });
    this.#platform
      .open({ message: (message) => this.#receive(message), closed: (reason) => this.#lost(reason) })
      .then((transport) => {
        this.#transport = transport;
        const client = this.#platform.kind;
        transport.send({ type: "hello", version: PROTOCOL_VERSION, client, token: null });
      })
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        if (error instanceof NotAllowed) this.#listener.link({ state: "refused", reason, hint: "" });
        else this.#lost(reason);
      });
  }

  /** Sends a command and waits for its answer. Throws an OwnerError. */
  async request<C extends Command>(command: C, onId?: (id: number) => void): Promise<Answer<C>> {
    const transport = this.#transport;
    if (!transport) throw new OwnerError(CUT);
    const id = this.#next++;
    onId?.(id);
    const response = await new Promise<Extract<ServerMessage, { type: "response" }>>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      transport.send({ type: "request", id, command });
    });
    if (response.error) throw new OwnerError(response.error);
    return response.reply as Answer<C>;
  }

  cancel(id: number): void {
    this.#transport?.send({ type: "cancel", id });
  }

  acknowledge(document: string, sequence: number): void {
    this.#transport?.send({ type: "acknowledge", document, sequence });
  }

  #receive(message: ServerMessage): void {
    switch (message.type) {
      case "welcome":
        this.#attempt = 0;
        this.#listener.link({
          state: "up",
          client: message.client,
          version: message.version,
          resources: message.resources,
        });
        break;
      case "refused":
        this.#listener.link({ state: "refused", reason: message.error.message, hint: message.error.hint });
        break;
      case "response":
        this.#waiting.get(message.id)?.resolve(message);
        this.#waiting.delete(message.id);
        break;
      case "push":
        this.#listener.push(message.push);
        break;
    }
  }

  #lost(reason: string): void {
    this.#transport = null;
    for (const waiting of this.#waiting.values()) waiting.reject(new OwnerError(CUT));
    this.#waiting.clear();
    const wait = backoff(this.#attempt++);
    clearTimeout(this.#timer);
    this.#listener.link({ state: "lost", reason, attempt: this.#attempt, nextAt: Date.now() + wait });
    this.#timer = setTimeout(() => this.start(), wait);
  }
}
