// Short messages at the bottom right, and the one polite voice for screen readers.

import type { LogLevel } from "../platform";

export interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

export interface ToastItem {
  readonly id: number;
  readonly level: LogLevel;
  readonly text: string;
  readonly hint: string;
  readonly actions: readonly ToastAction[];
}

/** How long a message stays; errors stay until they are closed. */
export const TOAST_MS = 5000;
const MOST = 4;

export class Toasts {
  items: readonly ToastItem[] = $state.raw([]);
  #next = 1;

  show(text: string, options: { level?: LogLevel; hint?: string; actions?: readonly ToastAction[] } = {}): number {
    const { level = "info", hint = "", actions = [] } = options;
    const id = this.#next++;
    const others = this.items.filter((item) => item.text !== text);
    this.items = [...others, { id, level, text, hint, actions }].slice(-MOST);
    return id;
  }

  close(id: number): void {
    this.items = this.items.filter((item) => item.id !== id);
  }
}

/** At most one message in three seconds, the newest wins. */
export const QUIET_MS = 3000;

export class Announcer {
  polite = $state("");
  assertive = $state("");
  #last = -Infinity;
  #waiting: string | null = null;

  say(text: string, now = Date.now()): void {
    const wait = this.#last + QUIET_MS - now;
    if (wait <= 0) {
      this.#last = now;
      this.polite = text;
      return;
    }
    if (this.#waiting === null) {
      setTimeout(() => {
        const message = this.#waiting;
        this.#waiting = null;
        if (message !== null) this.say(message);
      }, wait);
    }
    this.#waiting = text;
  }

  alert(text: string): void {
    this.assertive = text;
  }
}
