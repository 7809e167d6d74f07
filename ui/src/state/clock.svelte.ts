// The second hand. It ticks only while somebody looks at it.

import { createSubscriber } from "svelte/reactivity";

class Clock {
  #now = $state(Date.now());
  readonly #subscribe = createSubscriber(() => {
    this.#now = Date.now();
    const timer = setInterval(() => (this.#now = Date.now()), 1000);
    return () => clearInterval(timer);
  });

  /** Milliseconds since 1970, at most a second old. */
  get now(): number {
    this.#subscribe();
    return this.#now;
  }
}

export const clock = new Clock();
