// Who calls as a worker, or calls a worker: the check of X-Worker-ID and X-Worker-Token on both sides
// (docs/design/api.md#workers).
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from './errors.ts';
import { isWorkerId } from './worker-id.ts';
import {
  isOwnSecret,
  knowsWorkers,
  signingKeys,
  type WorkerAuth,
  type WorkerSecret,
  workerSecrets,
} from './worker-secret.ts';
import {
  HEARTBEAT_SCOPE,
  isTokenSignedWith,
  parseWorkerToken,
  type WorkerAudience,
  type WorkerToken,
  workerTokenFault,
} from './worker-token.ts';

export interface PresentedWorker {
  /** The value of X-Worker-ID. */
  worker_id?: string | undefined;
  /** The value of X-Worker-Token. */
  token?: string | undefined;
}

export interface WorkerIdentity {
  worker_id: string;
  /** The worker's secret, which signs calls to it and its leases. During a rotation it may be the previous one. */
  secret: string;
  /** The known scopes of the token. */
  scopes: readonly string[];
  /** The worker made its secret itself and hands it over. Nothing is proved yet: the first who does so has the id. */
  isHandedOver?: true;
}

/**
 * Returns the worker of the presented headers: by the secret itself, or by a token signed with it or with the signing
 * key. Throws `unavailable` if no worker credential is configured, `forbidden` for a token of another worker, and
 * `unauthorized` without a reason for everything else.
 */
export function identifyWorker(
  auth: WorkerAuth,
  presented: PresentedWorker,
  expected: { aud: WorkerAudience; now: number },
): WorkerIdentity {
  const verdict = judgeWorker(auth, presented, expected);
  if ('worker_id' in verdict) return verdict;
  throw new ServiceError(verdict.code, SAID[verdict.code], { cause: new Error(verdict.fault) });
}

type Refusal = 'unavailable' | 'forbidden' | 'unauthorized';
const SAID: Record<Refusal, string> = {
  unavailable: 'No worker credential is configured here.',
  forbidden: 'The credential belongs to another worker.',
  unauthorized: 'X-Worker-ID and X-Worker-Token do not match.',
};

/** Like `identifyWorker`, but a refusal gives the reason, for holders of the keys. */
export function judgeWorker(
  auth: WorkerAuth,
  { worker_id: id, token }: PresentedWorker,
  { aud, now }: { aud: WorkerAudience; now: number },
): WorkerIdentity | { code: Refusal; fault: string } {
  if (!knowsWorkers(auth)) return { code: 'unavailable', fault: 'No worker credential is configured.' };
  if (id === undefined || !isWorkerId(id)) return refused('The worker id is missing or malformed.');
  if (token === undefined) return refused('The token is missing.');
  const secrets = workerSecrets(auth, id);
  const plain = secrets.find(({ secret }) => isSame(secret, token));
  if (plain) return { worker_id: id, secret: plain.secret, scopes: [HEARTBEAT_SCOPE] };
  const parsed = parseWorkerToken(token);
  if (!parsed) return refused('The token is neither the secret nor a signed token.');
  const signer = signerOf(auth, secrets, parsed);
  if (signer === undefined) return refused('The token is signed with another key.');
  if (parsed.payload.worker_id !== id)
    return { code: 'forbidden', fault: `The token is for ${parsed.payload.worker_id}.` };
  const fault = workerTokenFault(parsed.payload, { aud, now, revoked: auth.worker_revoked_tokens ?? [] });
  if (fault !== undefined) return refused(fault);
  const scopes = parsed.payload.scopes.filter((scope) => scope === HEARTBEAT_SCOPE);
  return { worker_id: id, secret: signer, scopes };
}

/** The worker that hands over a secret of its own; undefined for headers that do not. */
export function handedOver({ worker_id, token }: PresentedWorker): WorkerIdentity | undefined {
  if (worker_id === undefined || !isWorkerId(worker_id) || token === undefined || !isOwnSecret(token))
    return undefined;
  return { worker_id, secret: token, scopes: [HEARTBEAT_SCOPE], isHandedOver: true };
}

const refused = (fault: string) => ({ code: 'unauthorized' as const, fault });

/** The worker's secret that belongs to the key of the token's signature. */
function signerOf(auth: WorkerAuth, secrets: WorkerSecret[], token: WorkerToken): string | undefined {
  const [current] = secrets;
  const direct = secrets.find(({ secret }) => isTokenSignedWith(secret, token));
  if (direct || !current) return direct?.secret;
  const key = signingKeys(auth).find((each) => isTokenSignedWith(each, token));
  if (key === undefined) return undefined;
  return (secrets.find(({ signingKey }) => signingKey === key) ?? current).secret;
}

function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
