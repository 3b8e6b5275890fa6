// A store whose nth call fails, around a real one. `after: true` fails it once the inner store has done the deed: the
// answer that is lost although the commit was not.
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Store } from '../../../src/store/store.ts';

export interface Failure {
  /** 1 is the next call; only calls of `method` count when it is given. */
  call: number;
  /** Such as `sandboxes.transition` or `ping`. */
  method?: string;
  after?: boolean;
  error?: Error;
}

export interface FailingStore extends Store {
  /** The next failure; takes the place of one that has not happened yet. Without an argument none. */
  fail(failure?: Failure): void;
  /** Every call so far, by method name. */
  readonly calls: string[];
}

type Method = (...args: never[]) => Promise<unknown>;

export function failingStore(inner: Store): FailingStore {
  const calls: string[] = [];
  let plan: Failure | undefined;
  /** The failure of this call, if it is the one. */
  const due = (name: string): Failure | undefined => {
    calls.push(name);
    if (!plan || (plan.method ?? name) !== name || --plan.call > 0) return undefined;
    const failure = plan;
    plan = undefined;
    return failure;
  };
  const wrap = <T extends object>(part: T, prefix: string): T => {
    const wrapped = Object.entries(part).map(([name, method]: [string, Method]) => [
      name,
      async (...args: never[]) => {
        const failure = due(`${prefix}${name}`);
        if (failure && !failure.after) throw failure.error ?? lost();
        const result = await method.apply(part, args);
        if (failure) throw failure.error ?? lost();
        return result;
      },
    ]);
    return Object.fromEntries(wrapped) as T;
  };
  const { instance, sandboxes, templates, warm, quotas, events, execs, pool, idempotency, audit, clock } =
    inner;
  const { usage, workers, leases, keys, sessions, secrets, replicas, roles, signals, ping, close } = inner;
  return {
    instance,
    sandboxes: wrap(sandboxes, 'sandboxes.'),
    templates: wrap(templates, 'templates.'),
    quotas: wrap(quotas, 'quotas.'),
    keys: wrap(keys, 'keys.'),
    sessions: wrap(sessions, 'sessions.'),
    secrets: wrap(secrets, 'secrets.'),
    warm: wrap(warm, 'warm.'),
    events: wrap(events, 'events.'),
    execs: wrap(execs, 'execs.'),
    usage: wrap(usage, 'usage.'),
    pool: wrap(pool, 'pool.'),
    workers: wrap(workers, 'workers.'),
    leases: wrap(leases, 'leases.'),
    idempotency: wrap(idempotency, 'idempotency.'),
    audit: wrap(audit, 'audit.'),
    clock: wrap(clock, 'clock.'),
    replicas,
    roles,
    signals,
    ...wrap({ ping, close }, ''),
    condition: () => inner.condition(),
    calls,
    fail: (failure) => {
      plan = failure && { ...failure };
    },
  };
}

const lost = () =>
  new ServiceError('unavailable', 'The database cannot be reached.', { remedy: 'Try again.' });
