// All tables over a pair of connections: the writer's (durable and relaxed), or twice the one that only reads.
import type { Database } from 'better-sqlite3';
import { auditStore } from './audit.ts';
import { clockStore } from './clock.ts';
import type { EventIds } from './event-ids.ts';
import { eventStore } from './events.ts';
import { idempotencyStore } from './idempotency.ts';
import { KnownRows } from './known-rows.ts';
import { leaseStore } from './leases.ts';
import type { Tables } from './methods.ts';
import { poolStore } from './pool.ts';
import { quotaStore } from './quotas.ts';
import { sandboxQueries } from './sandbox-queries.ts';
import { sandboxWrites } from './sandboxes.ts';
import { templateStore } from './templates.ts';
import { warmStore } from './warm.ts';
import type { Work } from './work.ts';
import { workerStore } from './workers.ts';

export interface TableDeps {
  durable: Database;
  /** For buffered events. */
  relaxed: Database;
  ids: EventIds;
  work: Work;
  known?: KnownRows;
}

export function storeTables({ durable, relaxed, ids, work, known = new KnownRows() }: TableDeps): Tables {
  const table = { db: durable, work, known };
  return {
    sandboxes: { ...sandboxWrites(table, ids), ...sandboxQueries(table) },
    templates: templateStore(durable, work),
    quotas: quotaStore(durable, ids, work),
    warm: warmStore(durable, work),
    events: eventStore(relaxed, ids, work),
    pool: poolStore(durable, work),
    workers: workerStore(durable, work),
    leases: leaseStore(durable, work),
    idempotency: idempotencyStore(durable, work),
    clock: clockStore(durable, work),
    audit: auditStore(durable, work),
  };
}
