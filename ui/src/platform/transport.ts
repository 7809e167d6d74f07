// What the two bodies of the platform have in common: a way to pass messages, and the few things that the page may ask of
// the computer it runs on. `window.ts` speaks through Tauri, `web.ts` through a WebSocket.

import type { ClientMessage, ServerMessage } from "./protocol";

export interface TransportEvents {
  readonly message: (message: ServerMessage) => void;
  /** The conversation ended; `reason` is for the person. */
  readonly closed: (reason: string) => void;
}

/** One conversation with the owner, alive until it closes. */
export interface Transport {
  send(message: ClientMessage): void;
  close(): void;
}

export interface WindowControls {
  /** Whether the system draws a title bar; then the page draws no buttons. */
  decorated(): Promise<boolean>;
  minimise(): void;
  toggleMaximise(): void;
  close(): void;
}

export interface Platform {
  readonly kind: "window" | "browser";
  open(events: TransportEvents): Promise<Transport>;
  /** Where the content of a resource is; null while it is not known. `resources` is what the welcome said. */
  resourceUrl(resource: string, resources: string | null): string | null;
  /** The bytes of a resource, which cannot be read from its address: that is another origin's, as outputs may run code. */
  bytes(resource: string): Promise<ArrayBuffer>;
  /** Opens a web page in the person's browser. */
  openExternal(url: string): void;
  /** Present where the page draws the window's own title bar. */
  readonly window: WindowControls | null;
  /** Paths of files dropped on the window; a browser does not tell them. */
  onFilesDropped(listener: (paths: readonly string[]) => void): void;
}

/** The server's address is known, but it does not let this page in. Trying again does not help. */
export class NotAllowed extends Error {}
