// Which calls the audit records, derived from the method and the path: everything that is not a read, and all below
// /admin. What is left out has a reason here.
import { operationOf, type RouteId } from './paths.ts';

/**
 * `kept`: for `auth.admin_audit_retention`. `frequent`: changes of sandboxes, of which `audit.max_records` are kept.
 * `inside`: calls inside sandboxes, recorded as frequent ones with `audit.execs`. `never`: reads, and UNAUDITED.
 */
export type RouteAudit = 'kept' | 'frequent' | 'inside' | 'never';

/** Calls that are not reads and change nothing that anybody asks about later. */
export const UNAUDITED: Readonly<Partial<Record<RouteId, string>>> = {
  admitSandbox: 'a dry run: it creates nothing',
  checkEgress: 'a dry run: it connects to nothing',
  checkQuota: 'a dry run: it changes nothing',
  renewSession:
    'the console sends one every few minutes while somebody works; logins and logouts are recorded',
  workerHeartbeat: 'every worker sends one every few seconds; changes of its state are events',
  renewLease:
    'every worker sends one for each of its sandboxes; a lost lease ends the sandbox, which is an event',
};

/** Reads by their method that start something all the same. */
const STARTS: readonly RouteId[] = ['execSocket'];

const INSIDE = /^\/sandboxes\/\{id\}\/(?:archive|code|execs?|files|previews)(?:\/|$)/;
const OF_SANDBOXES = /^\/sandboxes(?:\/|$)|\/spawn$/;

export function routeAudit(id: RouteId): RouteAudit {
  const { method, path } = operationOf(id);
  if (path.startsWith('/admin')) return 'kept';
  if (UNAUDITED[id] !== undefined || (method === 'GET' && !STARTS.includes(id))) return 'never';
  if (INSIDE.test(path)) return 'inside';
  return OF_SANDBOXES.test(path) ? 'frequent' : 'kept';
}
