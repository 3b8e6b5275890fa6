// Randomness from the kernel's generator. Everyone else is handed a `Random`, so that a test can seed it.
import { randomBytes } from 'node:crypto';
import type { Random } from '../domain/ports.ts';

/** Cryptographically strong bytes. */
export function realRandom(): Random {
  return { bytes: (count) => randomBytes(count) };
}
