// Idempotency-Key on spawns: requests with the same key share one spawn while it runs; afterwards the store answers
// with the first one's response for 24 h (docs/design/api.md#idempotency-keys).
import { ServiceError } from '../../domain/errors.ts';
import { fingerprint } from '../../domain/fingerprint.ts';
import { abortable } from '../../domain/timeout.ts';
import type { Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import type { IdempotencyClaim, Replay } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';

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

/** The stored response. Throws `conflict` for another body, `unavailable` while the first spawn has not ended. */
export function replayed(claim: IdempotencyClaim | undefined, stored: Replay): Sandbox {
  if (stored.fingerprint !== claim?.fingerprint) throw otherBody();
  if (stored.response !== undefined) return JSON.parse(stored.response) as Sandbox;
  // Only after a crash of the server: reconciliation ends that spawn and frees the key.
  throw new ServiceError('unavailable', 'The first request with this Idempotency-Key has not finished.', {
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
    signal: AbortSignal,
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
