// The secret that a worker and the control plane share (docs/design/api.md#workers). Both mint short tokens from it,
// and leases are
// signed with it. Worker and control plane find it by the same rule, each from its own configuration.
import { createHmac } from 'node:crypto';

/** Of the section `auth`. */
export interface WorkerAuth {
  /** One for all workers: keeps nobody apart. */
  worker_token?: string | undefined;
  /** By worker id. */
  worker_tokens?: Readonly<Record<string, string>> | undefined;
  worker_signing_key?: string | undefined;
  /** Still holds, while workers change over to the new one. */
  worker_signing_key_previous?: string | undefined;
  /** The `jti` of signed tokens that hold no longer. */
  worker_revoked_tokens?: readonly string[] | undefined;
}

export interface WorkerSecret {
  secret: string;
  /** Signs tokens in place of the secret, where there is one. */
  signingKey?: string;
}

/**
 * The secrets of a worker, the one in force first: its own token; else what the signing key makes of its id, then what
 * the previous one made; else the shared token. None: this configuration knows no such worker. What is empty is none: anybody could sign with it.
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

/** The new one first. A previous key alone is none: it is the rest of a rotation. */
export function signingKeys({ worker_signing_key, worker_signing_key_previous }: WorkerAuth): string[] {
  if (!worker_signing_key) return [];
  return [worker_signing_key, ...(worker_signing_key_previous ? [worker_signing_key_previous] : [])];
}

/** Whether any worker at all could come. */
export function knowsWorkers(auth: WorkerAuth): boolean {
  const { worker_tokens = {}, worker_signing_key, worker_token } = auth;
  const common = worker_signing_key ?? worker_token;
  return common !== undefined || Object.keys(worker_tokens).length > 0;
}

function derivedSecret(signingKey: string, id: string): string {
  return createHmac('sha256', signingKey).update(`worker:${id}`).digest('base64url');
}
