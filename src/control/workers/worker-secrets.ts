// The secret shared with each worker: calls to it and leases for it are signed with the secret it used last, which
// during a rotation may be the previous one.
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import { type WorkerAuth, workerSecrets } from '../../domain/worker-secret.ts';

export class WorkerSecrets {
  readonly #config: LiveConfig<{ auth: WorkerAuth }>;
  readonly #used = new Map<string, string>();

  constructor(config: LiveConfig<{ auth: WorkerAuth }>) {
    this.#config = config;
  }

  /** Records that the worker proved this secret. */
  proved(id: string, secret: string): void {
    this.#used.set(id, secret);
  }

  /** Throws `unavailable` where no credential of this worker is configured (any more). */
  of(id: string): string {
    const secrets = workerSecrets(this.#config.current().auth, id).map(({ secret }) => secret);
    const used = this.#used.get(id);
    const secret = used !== undefined && secrets.includes(used) ? used : secrets[0];
    if (secret !== undefined) return secret;
    throw new ServiceError('unavailable', 'No credential of this worker is configured here.', {
      remedy: 'Set auth.worker_tokens or auth.worker_signing_key.',
    });
  }

  forget(id: string): void {
    this.#used.delete(id);
  }
}
