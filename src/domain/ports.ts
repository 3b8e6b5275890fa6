// What the pure core needs from outside: time, ids, randomness, a log. `host` and `redact` implement these;
// everything else is handed them, so that a test owns time.

import type { Abort } from './abort.ts';

/** A timer that was set; cancelling twice is harmless. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock in ms since 1970 UTC: for stored stamps only. */
  now(): number;
  /** Monotonic ms: for durations and deadlines. */
  monotonic(): number;
  /** Calls `run` once after `ms` (any size; longer than a timer's range is chained). Does not keep the process alive. */
  after(ms: number, run: () => void): Timer;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: Abort): Promise<void>;
}

/** The present boot of this machine. */
export interface Boot {
  /** Another one after each boot; where it is not known, another one for each process. */
  id: string;
  /** Ms since then, by a clock that nobody sets and that counts while the machine sleeps. */
  elapsedMs(): number;
}

export interface Ids {
  /** `sb-` and 12 characters of lower-case base32: 60 random bits. */
  sandbox(): string;
  /** `vm-` and as many, for a VM of the pool. */
  vm(): string;
  /** `ex-` and 12 characters of lower-case base32. */
  exec(): string;
  /** `key-` and as many. */
  key(): string;
  /** `ses-` and as many. */
  session(): string;
  /** `r-` and as many, for this process among those that share a database. */
  replica(): string;
  /** A random UUID, for request ids and instance ids. */
  uuid(): string;
}

export interface Random {
  bytes(count: number): Buffer;
}

export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** A logger that adds `fields` to every line. */
  child(fields: object): Logger;
}
