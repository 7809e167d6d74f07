// The one module through which the page reaches anything outside itself.

import type { Platform } from "./transport";

export * from "./protocol";
export { Conversation, OwnerError, type Link } from "./conversation";
export type { Platform, WindowControls } from "./transport";
export type { Answer } from "./answers";

/** The body that fits where this page runs. Each is loaded only where it is used. */
export async function choosePlatform(): Promise<Platform> {
  return "__TAURI_INTERNALS__" in window
    ? (await import("./window")).windowPlatform()
    : (await import("./web")).webPlatform();
}
