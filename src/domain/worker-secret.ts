// The secret that a worker and the control plane share (docs/design/api.md#workers). Both mint short tokens from it,
// and leases are signed with it. Worker and control plane find it by the same rule, each from its own configuration.
import { createHash, createHmac } from 'node:crypto';
import { ServiceError } from './errors.ts';

/** The worker credentials of the `auth` section. */
export interface WorkerAuth {
  /** One token for all workers, which it does not tell apart. */
  worker_token?: string | undefined;
  /** Tokens by worker id. */
  worker_tokens?: Readonly<Record<string, string>> | undefined;
  worker_signing_key?: string | undefined;
  /** Stays valid while workers change to the new key. */
  worker_signing_key_previous?: string | undefined;
  /** The `jti` of revoked tokens. */
  worker_revoked_tokens?: readonly string[] | undefined;
}

export interface WorkerSecret {
  secret: string;
  /** Signs tokens instead of the secret, if present. */
  signingKey?: string;
}

/**
 * The secrets of a worker, the current one first: its own token; otherwise those derived from the current and the
 * previous signing key; otherwise the shared token. Empty if the configuration does not know the worker. Empty texts
 * are skipped because anyone could sign with them.
 */
export function workerSecrets(auth: WorkerAuth, id: string): WorkerSecret[] {
  const { worker_tokens = {}, worker_token } = auth;
  if (Object.hasOwn(worker_tokens, id)) return some(worker_tokens[id]);
  const keys = signingKeys(auth);
  if (keys.length > 0)
    return keys.map((signingKey) => ({ secret: derivedSecret(signingKey, id), signingKey }));
  return some(worker_token);
}

const some = (secret: string | undefined): WorkerSecret[] => (secret ? [{ secret }] : []);

/** The current key first. A previous key alone does not count: it is left over from a rotation. */
export function signingKeys({ worker_signing_key, worker_signing_key_previous }: WorkerAuth): string[] {
  if (!worker_signing_key) return [];
  return [worker_signing_key, ...(worker_signing_key_previous ? [worker_signing_key_previous] : [])];
}

/** True if any worker credential is configured. */
export function knowsWorkers(auth: WorkerAuth): boolean {
  const { worker_tokens = {}, worker_signing_key, worker_token } = auth;
  const common = worker_signing_key ?? worker_token;
  return common !== undefined || Object.keys(worker_tokens).length > 0;
}

const OWN_SECRET = /^svc-worker-own-v1\.[A-Za-z0-9_-]{43}$/;

/**
 * The secret that a worker makes itself, from 32 random bytes. It holds only on one machine: the worker hands it over with
 * its heartbeats, from loopback to loopback, to a server that has no worker credential.
 */
export function ownSecret(random: Buffer): string {
  return `svc-worker-own-v1.${random.toString('base64url')}`;
}

export function isOwnSecret(text: string): boolean {
  return OWN_SECRET.test(text);
}

/** Identifies a secret without telling it: SHA-256 as 64 hexadecimal digits. */
export function secretPrint(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

export function workerIdTaken(): ServiceError {
  return new ServiceError('conflict', 'A worker with this id and another secret is running.', {
    remedy: 'Stop it, or choose another --id.',
  });
}

function derivedSecret(signingKey: string, id: string): string {
  return createHmac('sha256', signingKey).update(`worker:${id}`).digest('base64url');
}
