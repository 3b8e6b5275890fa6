// The secret shared with each worker: calls to it and leases for it are signed with the secret it used last, which
// during a rotation may be the previous one. Where no credential is configured, workers of this machine hand over their own.
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock } from '../../domain/ports.ts';
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import {
  knowsWorkers,
  secretPrint,
  type WorkerAuth,
  workerIdTaken,
  workerSecrets,
} from '../../domain/worker-secret.ts';

interface OwnSecret {
  secret: string;
  /** The last heartbeat that handed it over, in monotonic ms. */
  at: number;
}

export class WorkerSecrets {
  readonly #config: LiveConfig<{ auth: WorkerAuth }>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #used = new Map<string, string>();
  readonly #own = new Map<string, OwnSecret>();

  constructor(config: LiveConfig<{ auth: WorkerAuth }>, clock: Pick<Clock, 'monotonic'>) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Records that the worker proved this secret. */
  proved(id: string, secret: string): void {
    this.#used.set(id, secret);
  }

  /** Before the store is asked, and by monotonic time: a wall clock that is set frees no id. Throws `conflict` while the worker that handed over another secret for this id still sends heartbeats. */
  refuseOther({ worker_id, secret }: WorkerIdentity, leaseMs: number): void {
    const own = this.#own.get(worker_id);
    if (own && own.secret !== secret && this.#clock.monotonic() - own.at < leaseMs) throw workerIdTaken();
  }

  /** Records that the worker handed over a secret of its own, and that nobody else has the id. */
  handedOver({ worker_id, secret }: WorkerIdentity): void {
    this.#own.set(worker_id, { secret, at: this.#clock.monotonic() });
  }

  /** Whether the worker made its secret itself. */
  isOwn(id: string): boolean {
    return this.#own.has(id) && !knowsWorkers(this.#config.current().auth);
  }

  /** Throws `unauthorized` for another secret than the one of the last heartbeat, `unavailable` before the first. */
  requireHandedOver({ worker_id, secret }: WorkerIdentity): void {
    const own = this.#own.get(worker_id);
    if (!own) throw notYet();
    if (secretPrint(own.secret) === secretPrint(secret)) return;
    throw new ServiceError('unauthorized', 'X-Worker-ID and X-Worker-Token do not match.');
  }

  /** Throws `unavailable` where no credential of this worker is configured (any more), and none was handed over. */
  of(id: string): string {
    const { auth } = this.#config.current();
    const secrets = workerSecrets(auth, id).map(({ secret }) => secret);
    const used = this.#used.get(id);
    const secret = used !== undefined && secrets.includes(used) ? used : secrets[0];
    const own = knowsWorkers(auth) ? undefined : this.#own.get(id)?.secret;
    if (secret !== undefined) return secret;
    if (own !== undefined) return own;
    throw new ServiceError('unavailable', `No credential of worker ${id} is known here.`, {
      remedy:
        'Set auth.worker_tokens or auth.worker_signing_key. A worker on this machine hands over its own with its next heartbeat.',
    });
  }

  forget(id: string): void {
    this.#used.delete(id);
    this.#own.delete(id);
  }
}

function notYet(): ServiceError {
  return new ServiceError('unavailable', 'This worker has not sent a heartbeat since the server started.', {
    remedy: 'Send a heartbeat first.',
  });
}
