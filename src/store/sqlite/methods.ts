// The thread on which each store method runs. Writing connections have their own thread, so that a slow disk does not
// block requests; the caller's thread has a read-only connection for short reads.
import type { Store } from '../store.ts';

/** The parts of the store that are tables. */
export type Tables = Omit<
  Store,
  | 'instance'
  | 'time'
  | 'replicas'
  | 'roles'
  | 'signals'
  | 'tickets'
  | 'runtimes'
  | 'shared'
  | 'ping'
  | 'condition'
  | 'close'
>;
export type Part = keyof Tables;

/**
 * - `here`: a read of a few rows or one page on the caller's thread. It may see a write just before it is acknowledged,
 *   never after.
 * - `read`: a read whose time grows with the rows, or that must see exactly what was acknowledged: on the writer's
 *   thread.
 * - `add`: a write that adds rows. Rejected first when too many writes wait.
 * - `change`: every other write.
 * - `sweep`: deletes at most SWEEP_ROWS at a time. It repeats until it deletes fewer; other writes run in between.
 */
export type Route = 'here' | 'read' | 'add' | 'change' | 'sweep';

/** The maximum number of rows per step of a sweep. */
export const SWEEP_ROWS = 1000;

export const METHODS: { readonly [P in Part]: { readonly [M in keyof Tables[P]]: Route } } = {
  sandboxes: {
    reserve: 'add',
    transition: 'change',
    extend: 'change',
    purgeEnded: 'sweep',
    admission: 'here',
    get: 'here',
    getDurable: 'read',
    getWithQuota: 'here',
    list: 'here',
    inStates: 'read',
    due: 'read',
    nextDeadline: 'here',
    countActive: 'here',
    census: 'read',
  },
  templates: {
    create: 'add',
    replace: 'add',
    delete: 'change',
    get: 'here',
    list: 'here',
    prewarmed: 'read',
  },
  quotas: {
    put: 'add',
    delete: 'change',
    get: 'here',
    list: 'here',
    usage: 'here',
    summary: 'read',
    owners: 'read',
    endingAfter: 'read',
  },
  keys: {
    create: 'add',
    rotate: 'change',
    revoke: 'change',
    used: 'change',
    purge: 'sweep',
    find: 'here',
    list: 'here',
    all: 'here',
    changes: 'here',
  },
  sessions: { open: 'add', renew: 'change', end: 'change', take: 'change', all: 'here' },
  secrets: { put: 'add', add: 'add', remove: 'change', list: 'here' },
  warm: {
    reserve: 'add',
    ready: 'change',
    take: 'change',
    putBack: 'change',
    end: 'change',
    remove: 'change',
    get: 'here',
    all: 'read',
  },
  events: { append: 'add', prune: 'sweep', since: 'here', bounds: 'here' },
  execs: { record: 'add', list: 'here', prune: 'sweep' },
  usage: {
    settle: 'change',
    complete: 'change',
    purge: 'sweep',
    open: 'read',
    of: 'here',
    rows: 'read',
    sandboxes: 'here',
    completeUntil: 'here',
  },
  pool: { running: 'change', retire: 'change', remove: 'change', get: 'here', all: 'read', usage: 'read' },
  workers: { heard: 'add', drain: 'change', remove: 'change', get: 'here', list: 'here' },
  leases: { renew: 'change', get: 'here', list: 'here' },
  idempotency: { prune: 'sweep', find: 'here' },
  clock: { mark: 'here', set: 'change' },
  audit: { append: 'add', purge: 'sweep', list: 'read' },
};
