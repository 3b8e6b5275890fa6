// Waiting for a fact without guessing how long it takes.
import { setTimeout as pause } from 'node:timers/promises';

/** Polls `fact` until it is truthy and returns it; throws with `what` after `ms`. */
export async function until<T>(
  what: string,
  fact: () => T | Promise<T>,
  ms = 20_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + ms;
  for (;;) {
    const value = await fact();
    if (value) return value as NonNullable<T>;
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms for: ${what}`);
    await pause(20);
  }
}
