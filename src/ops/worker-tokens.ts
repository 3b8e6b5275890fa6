// Tokens of workers as operators make and judge them. What they hold is read from the configuration; nothing is stored.
import { loadProcessConfig } from '../config/process-config.ts';
import { formatDuration, parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import { judgeWorker } from '../domain/worker-access.ts';
import { isWorkerId, LOCAL_WORKER } from '../domain/worker-id.ts';
import { workerSecrets } from '../domain/worker-secret.ts';
import {
  freshToken,
  parseWorkerToken,
  type WorkerAudience,
  type WorkerTokenPayload,
  workerTokenFault,
} from '../domain/worker-token.ts';
import { realClock } from '../host/clock.ts';
import { realIds } from '../host/ids.ts';
import { realRandom } from '../host/random.ts';

const LONGEST_MS = 15 * 60_000;

export interface CreateToken {
  id: string;
  /** What `--config` says. */
  file: string | undefined;
  /** A token that ends after this long, in place of the secret; a duration of at most 15m. */
  signed?: string | undefined;
  audience: WorkerAudience;
}

/**
 * The secret of a worker, or a token under it. Throws `bad_request` for an id that is none, or when the configuration holds
 * nothing for it.
 */
export function createWorkerToken({ id, file, signed, audience: aud }: CreateToken): string {
  if (!isWorkerId(id) || id === LOCAL_WORKER)
    throw new ServiceError('bad_request', 'The worker id is not valid.', {
      remedy: 'Use 1 to 128 letters, digits and . _ -. The id local is reserved.',
    });
  const [current] = workerSecrets(loadProcessConfig({ file }).config.auth, id);
  if (!current)
    throw new ServiceError(
      'bad_request',
      'The configuration does not contain a credential for this worker.',
      {
        remedy:
          'Set auth.worker_signing_key to a random key, or set auth.worker_tokens to a token for each worker.',
      },
    );
  if (signed === undefined) return current.secret;
  const lifeMs = parseDuration(signed, '--signed');
  if (lifeMs < 1000 || lifeMs > LONGEST_MS)
    throw new ServiceError('bad_request', 'The lifetime of a signed token must be between 1s and 15m.');
  const terms = { worker_id: id, aud, jti: realIds(realRandom()).uuid(), now: realClock().now() };
  return freshToken(current.secret, { ...terms, lifeSeconds: lifeMs / 1000 });
}

export interface InspectedToken extends WorkerTokenPayload {
  /** How long it still holds; `0s` when it is over. */
  left: string;
}

/** What a signed token says, whoever signed it. Throws `bad_request` for anything else. */
export function inspectWorkerToken(text: string): InspectedToken {
  const token = parseWorkerToken(text.trim());
  if (!token)
    throw new ServiceError('bad_request', 'This is not a signed worker token.', {
      remedy:
        'Use a token that starts with svc-worker-v1. and has three parts. A secret cannot be inspected.',
    });
  const leftMs = Math.max(0, token.payload.exp * 1000 - realClock().now());
  return { ...token.payload, left: formatDuration(leftMs) };
}

export interface TokenVerdict {
  ok: boolean;
  worker_id: string;
  /** What is wrong, when it is not accepted. */
  fault?: string;
}

/**
 * Whether a control plane of this configuration accepts `text` from the worker `id`; without one, from the worker that the
 * token names. Throws `bad_request` when there is none to be request for.
 */
export function verifyWorkerToken(request: {
  text: string;
  id: string | undefined;
  file: string | undefined;
  audience: WorkerAudience;
}): TokenVerdict {
  const token = request.text.trim();
  const payload = parseWorkerToken(token)?.payload;
  const worker_id = request.id ?? payload?.worker_id;
  if (worker_id === undefined)
    throw new ServiceError('bad_request', 'A secret does not contain the id of its worker.', {
      remedy: 'Set --id to the id of the worker.',
    });
  const { auth } = loadProcessConfig({ file: request.file }).config;
  const expected = { aud: request.audience, now: realClock().now() };
  const verdict = judgeWorker(auth, { worker_id, token }, expected);
  if (!('fault' in verdict)) return { ok: true, worker_id };
  // A token that is expired and has a wrong signature is reported as expired, too: that is the most frequent cause.
  const also = payload && workerTokenFault(payload, { ...expected, revoked: [] });
  return {
    ok: false,
    worker_id,
    fault: also === undefined || also === verdict.fault ? verdict.fault : `${verdict.fault} ${also}`,
  };
}
