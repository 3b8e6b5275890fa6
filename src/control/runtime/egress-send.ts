// Brings what decides about a sandbox to its gate, here or on its worker.
import { ServiceError } from '../../domain/errors.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import { isGated } from './applied-egress.ts';
import { conceal, type EgressGatesDeps, type Entry } from './egress-entry.ts';
import { orderForWorker } from './egress-orders.ts';

/** Repeats of a policy that another server changes at the same time. */
const MOST_SENT = 5;
const RETRY_MS = 1000;

/** False: an order of another server came first. */
export async function sendOrder(
  entry: Entry,
  order: EgressOrder,
  deps: Pick<EgressGatesDeps, 'conceal'>,
  after?: number,
): Promise<boolean> {
  if (entry.isClosed) return true;
  conceal(entry, order, deps);
  return entry.held.apply(order, after);
}

/** Other servers also change the policy of a sandbox on a worker: where their order came first, this one is repeated from the store. */
export async function sendNewest(entry: Entry, deps: EgressGatesDeps): Promise<void> {
  for (let times = 0; times < MOST_SENT; times++) {
    // Before the store is read: what comes later is not older than what is read.
    const { orders } = entry.held;
    const stored = await deps.sandboxes.get(entry.row.id);
    if (stored && isGated(stored)) entry.row = stored;
    const order = await orderForWorker(deps, entry.row);
    if (!(await sendOrder(entry, order, deps, orders))) continue;
    entry.sent = JSON.stringify(order);
    return;
  }
  throw new ServiceError(
    'unavailable',
    'Other servers change the egress policy of the sandbox all the time.',
    { remedy: 'Try again.', retryAfterMs: RETRY_MS },
  );
}
