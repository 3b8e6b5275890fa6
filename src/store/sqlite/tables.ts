// All tables over a pair of connections: the writer's (durable and relaxed), or the read-only one twice.
import type { Database } from 'better-sqlite3';
import { auditStore } from './audit.ts';
import { clockStore } from './clock.ts';
import type { EventIds } from './event-ids.ts';
import { eventStore } from './events.ts';
import { execStore } from './execs.ts';
import type { Executor } from './executor.ts';
import { idempotencyStore } from './idempotency.ts';
import { keyStore } from './keys.ts';
import { leaseStore } from './leases.ts';
import type { Tables } from './methods.ts';
import { poolStore } from './pool.ts';
import { warmStore } from './prewarmed.ts';
import { quotaStore } from './quotas.ts';
import { RowCache } from './row-cache.ts';
import { sandboxQueries } from './sandbox-queries.ts';
import { sandboxWrites } from './sandboxes.ts';
import { secretStore } from './secrets.ts';
import { sessionStore } from './sessions.ts';
import { templateStore } from './templates.ts';
import { usageStore } from './usage.ts';
import { workerStore } from './workers.ts';

export interface TableDeps {
  durable: Database;
  /** The connection for buffered events. */
  relaxed: Database;
  ids: EventIds;
  work: Executor;
  cache?: RowCache;
}

export function storeTables({ durable, relaxed, ids, work, cache = new RowCache() }: TableDeps): Tables {
  const table = { db: durable, work, cache };
  return {
    sandboxes: { ...sandboxWrites(table, ids), ...sandboxQueries(table) },
    templates: templateStore(durable, work),
    quotas: quotaStore(durable, ids, work),
    keys: keyStore(durable, work),
    sessions: sessionStore(durable, work),
    secrets: secretStore(durable, work),
    warm: warmStore(durable, work),
    events: eventStore(relaxed, ids, work),
    execs: execStore(relaxed, work),
    usage: usageStore(durable, relaxed, work),
    pool: poolStore(durable, work),
    workers: workerStore(durable, work),
    leases: leaseStore(durable, work),
    idempotency: idempotencyStore(durable, work),
    clock: clockStore(durable, work),
    audit: auditStore(durable, work),
  };
}
