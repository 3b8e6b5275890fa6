// The database's own record, read beside the server and never through it: what there is, and whether at any moment of
// the history there was too much.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';

export interface LedgerRow {
  id: string;
  state: string;
  owner_id: string;
  /** The VM of the pool that it is in; null: its runtime is its own. */
  vm_id: string | null;
}

export interface Ledger {
  /** Sandboxes that were ever begun. */
  all: LedgerRow[];
  /** Sandboxes that have not ended. */
  live: LedgerRow[];
  /** Ready ones and ones on their way, of nobody. */
  warm: number;
  vms: number;
  /** What the counter of admission says. */
  counted: number;
  /** Sandboxes that were alive at once, by the order of their stored events: in all, and of one owner. */
  most: { all: number; own: number };
  /** Sandboxes that were created, or ended, twice in the history. */
  twice: string[];
  sound: boolean;
}

interface Told {
  type: string;
  sandbox_id: string;
  owner_id: string;
}

export function readLedger(home: string): Ledger {
  const db = new Sqlite(join(home, 'svc.db'), { readonly: true });
  const number = (sql: string) => db.prepare<[], number>(sql).pluck().get() ?? 0;
  try {
    const rows = db
      .prepare<[], LedgerRow>("SELECT id, state, coalesce(owner_id, '') AS owner_id, vm_id FROM sandboxes")
      .all();
    const told = db.prepare<[], Told>(
      "SELECT type, sandbox_id, owner_id FROM events WHERE type LIKE 'sandbox.%' ORDER BY id",
    );
    return {
      all: rows,
      live: rows.filter(({ state }) => state !== 'destroyed' && state !== 'error'),
      warm: number('SELECT count(*) FROM warm_sandboxes'),
      vms: number('SELECT count(*) FROM pool_vms'),
      counted: number('SELECT sum(active) FROM active_counts'),
      ...history(told.all(), new Map(rows.map((row) => [row.id, row.state]))),
      sound: db.pragma('integrity_check', { simple: true }) === 'ok',
    };
  } finally {
    db.close();
  }
}

/** `sandbox.error` is an end where the row ended so, else only the news of one; of a row that is forgotten it may be both. */
function history(told: readonly Told[], states: ReadonlyMap<string, string>): Pick<Ledger, 'most' | 'twice'> {
  const owners = new Map<string, string>();
  const [created, ended] = [new Set<string>(), new Set<string>()];
  const twice: string[] = [];
  const most = { all: 0, own: 0 };
  const once = (seen: Set<string>, id: string) =>
    seen.has(id) && states.has(id) ? twice.push(id) : seen.add(id);
  for (const { type, sandbox_id: id, owner_id } of told) {
    const isEnd =
      type === 'sandbox.destroyed' || (type === 'sandbox.error' && (states.get(id) ?? 'error') === 'error');
    if (type === 'sandbox.created') {
      once(created, id);
      owners.set(id, owner_id);
    } else if (isEnd) {
      once(ended, id);
      owners.delete(id);
    }
    most.all = Math.max(most.all, owners.size);
    most.own = Math.max(most.own, [...owners.values()].filter((owner) => owner === owner_id).length);
  }
  return { most, twice };
}
