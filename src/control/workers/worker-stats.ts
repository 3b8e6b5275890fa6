// Workers and leases in numbers, for metrics and health.
import type { Clock } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { MetricsBody } from '../../schema/diagnostics.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { Leases } from './leases.ts';
import { isStale, type WorkerTerms } from './worker-terms.ts';

export type WorkerStats = () => Promise<Pick<MetricsBody, 'workers' | 'leases'>>;

export interface WorkerStatsDeps {
  workers: Pick<WorkerStore, 'list'>;
  leases: Leases;
  terms: WorkerTerms;
  clock: Clock;
}

export function workerStats({ workers, leases, terms, clock }: WorkerStatsDeps): WorkerStats {
  return async () => {
    const [all, held] = await Promise.all([workers.list(), leases.list()]);
    const now = clock.now();
    const expired = held.filter((lease) => leases.overMs(lease) >= 0).length;
    return {
      workers: workerNumbers(all, terms, now),
      leases: { total: held.length, active: held.length - expired, expired },
    };
  };
}

function workerNumbers(
  all: readonly WorkerRecord[],
  terms: WorkerTerms,
  now: number,
): MetricsBody['workers'] {
  const by_status: Record<string, number> = { online: 0, draining: 0, offline: 0 };
  for (const { status, drain } of all) {
    const shown = drain && status === 'online' ? 'draining' : status;
    by_status[shown] = (by_status[shown] ?? 0) + 1;
  }
  const here = all.filter(({ status }) => status !== 'offline');
  const ages = here.map(({ last_heartbeat }) => Math.max(0, now - Date.parse(last_heartbeat)) / 1000);
  // This server is alive as long as it answers.
  const stale = here.filter((worker) => worker.id !== LOCAL_WORKER && isStale(worker, terms, now)).length;
  return { total: all.length, by_status, stale, oldest_heartbeat_seconds: Math.max(0, ...ages) };
}
