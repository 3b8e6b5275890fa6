// Idempotency-Key on spawns: requests with the same key share one spawn while it runs; afterwards the store answers
// with the first one's response for 24 h (docs/design/api.md#idempotency-keys).
import type { Abort } from '../../domain/abort.ts';
import { ServiceError } from '../../domain/errors.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import type { Clock } from '../../domain/ports.ts';
import { abortable } from '../../domain/timeout.ts';
import type { Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import type { SignalStore } from '../../store/seam/signals.ts';
import type { IdempotencyClaim, IdempotencyStore, Replay } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Replicas } from '../runtime/replicas.ts';

/** How often a spawn of another server is looked at, at least and at most. */
const [JOIN_LOOK_MS, JOIN_PAUSE_MS] = [500, 20];
const KEY = /^[\x21-\x7e]{1,255}$/;

export interface SpawnOptions {
  /** The Idempotency-Key that the client sent. */
  idempotencyKey?: string;
  /** The path of the request; `/sandboxes` unless given. */
  path?: string;
}

/** Throws `bad_request` unless the key is 1 to 255 visible ASCII characters. Scoped to the owner, else the credential. */
export function spawnClaim(
  { idempotencyKey: key, path = '/sandboxes' }: SpawnOptions,
  request: SpawnRequest,
  caller: Caller,
): IdempotencyClaim | undefined {
  if (key === undefined) return undefined;
  if (!KEY.test(key))
    throw new ServiceError('bad_request', 'Idempotency-Key is not valid.', {
      remedy: 'Use 1 to 255 visible ASCII characters.',
    });
  const scope = caller.owner === undefined ? `credential:${caller.credential}` : `owner:${caller.owner}`;
  return { scope, key, fingerprint: fingerprint(path, request) };
}

/** The stored response; undefined while the first spawn has not ended. Throws `conflict` for another body. */
export function replayed(claim: IdempotencyClaim | undefined, stored: Replay): Sandbox | undefined {
  if (stored.fingerprint !== claim?.fingerprint) throw otherBody();
  return stored.response === undefined ? undefined : (JSON.parse(stored.response) as Sandbox);
}

export interface JoinDeps {
  idempotency: Pick<IdempotencyStore, 'find'>;
  signals: SignalStore;
  replicas: Pick<Replicas, 'areSeveral'>;
  clock: Clock;
}

/**
 * The response of the first spawn with this key, once it has ended, at another server too; undefined when the key is free. A spawn
 * that failed, or whose server died, frees it. Throws `conflict` for another body, the reason of `signal`, and `unavailable` where
 * no other server can be starting it: it crashed, and reconciliation frees the key.
 */
export async function firstResponse(
  { idempotency, signals, replicas, clock }: JoinDeps,
  claim: IdempotencyClaim,
  signal: Abort,
): Promise<Sandbox | undefined> {
  for (;;) {
    const stored = await idempotency.find(claim);
    const sandbox = stored && replayed(claim, stored);
    if (!stored || sandbox) return sandbox;
    if (!replicas.areSeveral) throw unfinished();
    let stop = () => {};
    const ended = new Promise<void>((resolve) => {
      stop = signals.on('events', () => resolve());
    });
    await Promise.race([ended, clock.sleep(JOIN_LOOK_MS, signal)]).finally(stop);
    // Signals of a busy service come all the time.
    await clock.sleep(JOIN_PAUSE_MS, signal);
  }
}

function unfinished(): ServiceError {
  return new ServiceError('unavailable', 'The first request with this Idempotency-Key has not finished.', {
    remedy: 'Try again in a moment.',
    retryAfterMs: 1000,
  });
}

interface Shared {
  fingerprint: string;
  result: Promise<Sandbox>;
  waiting: number;
  abandoned: AbortController;
}

export class SharedSpawns {
  readonly #running = new Map<string, Shared>();

  /** Joins the spawn of this claim, or starts it; its signal aborts when all callers have disconnected. */
  async run(
    claim: IdempotencyClaim,
    signal: Abort,
    spawn: (abandoned: AbortSignal) => Promise<Sandbox>,
  ): Promise<Sandbox> {
    const key = JSON.stringify([claim.scope, claim.key]);
    const shared = this.#running.get(key) ?? this.#begin(key, claim, spawn);
    if (shared.fingerprint !== claim.fingerprint) throw otherBody();
    shared.waiting++;
    try {
      return await abortable(shared.result, signal);
    } finally {
      shared.waiting--;
      if (shared.waiting === 0) shared.abandoned.abort(signal.reason);
    }
  }

  #begin(
    key: string,
    { fingerprint }: IdempotencyClaim,
    spawn: (abandoned: AbortSignal) => Promise<Sandbox>,
  ): Shared {
    const abandoned = new AbortController();
    const result = spawn(abandoned.signal).finally(() => this.#running.delete(key));
    const shared = { fingerprint, result, waiting: 0, abandoned };
    this.#running.set(key, shared);
    return shared;
  }
}

export function otherBody(): ServiceError {
  return new ServiceError('conflict', 'This Idempotency-Key was used with another request.', {
    remedy: 'Use a new key for a new request.',
  });
}
