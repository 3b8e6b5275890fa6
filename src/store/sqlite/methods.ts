// Where each method of the store runs. The writing connections belong to a thread of their own, so that a slow disk stops
// no request; the caller's thread has a connection that only reads, for what is short and asked for by requests.
import type { Store } from '../store.ts';

/** The parts of the store that are tables. */
export type Tables = Omit<Store, 'instance' | 'ping' | 'condition' | 'close'>;
export type Part = keyof Tables;

/**
 * - `here`: a read of a few rows or of one page, on the caller's thread. It may see a write just before it is acknowledged,
 *   never after.
 * - `read`: takes as long as there are rows, or must see what was acknowledged and nothing else: in the thread.
 * - `add`: a write that adds rows. Refused first when too many writes wait.
 * - `change`: every other write.
 * - `sweep`: deletes at most BITE_ROWS at a time. It is called until it deletes fewer; other writes go on in between.
 */
export type Route = 'here' | 'read' | 'add' | 'change' | 'sweep';

/** Of each sweep. */
export const SWEEP_ROWS = 1000;

export const METHODS: { readonly [P in Part]: { readonly [M in keyof Tables[P]]: Route } } = {
  sandboxes: {
    reserve: 'add',
    transition: 'change',
    extend: 'change',
    purgeEnded: 'sweep',
    admission: 'here',
    get: 'here',
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
  quotas: { put: 'add', delete: 'change', get: 'here', list: 'here', usage: 'here', summary: 'read' },
  warm: { reserve: 'add', ready: 'change', remove: 'change', get: 'here', all: 'read' },
  events: { append: 'add', prune: 'sweep', since: 'here', bounds: 'here' },
  pool: { running: 'change', retire: 'change', remove: 'change', get: 'here', all: 'read', usage: 'read' },
  workers: { heard: 'add', drain: 'change', remove: 'change', get: 'here', list: 'here' },
  leases: { renew: 'change', get: 'here', list: 'here' },
  idempotency: { prune: 'sweep', find: 'here' },
  clock: { mark: 'here', set: 'change' },
  audit: { append: 'add', purge: 'sweep', list: 'read' },
};
