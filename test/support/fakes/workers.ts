// Workers of the control plane that tests of its edges work with: a map and notes of what was asked.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { Workers } from '../../../src/control/api/workers.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { signLease } from '../../../src/domain/lease.ts';
import type { Worker } from '../../../src/schema/worker.ts';
import { stamp } from '../records.ts';

export function fakeWorkers(
  note: (method: string, caller: Caller | undefined, ...args: unknown[]) => void,
): Workers {
  const workers = new Map(['local', 'w'].map((id) => [id, fakeWorker(id)]));
  const must = (id: string): Worker => {
    const worker = workers.get(id);
    if (!worker) throw new ServiceError('not_found', 'There is no such worker.');
    return worker;
  };
  return {
    async list() {
      note('workers.list', undefined);
      return [...workers.values()];
    },
    async get(id) {
      note('workers.get', undefined, id);
      return must(id);
    },
    async heartbeat(id, body, identity) {
      note('workers.heartbeat', undefined, id, body, identity?.worker_id);
      workers.set(id, fakeWorker(id));
      return must(id);
    },
    async drain(id, drain) {
      note('workers.drain', undefined, id, drain);
      return { ...must(id), drain };
    },
    async remove(id) {
      note('workers.remove', undefined, id);
      must(id);
    },
    async renew({ worker_id }, resource_id, ttl) {
      note('workers.renew', undefined, worker_id, resource_id, ttl);
      const terms = { resource_id, holder_id: worker_id, generation: 2, expires_at: stamp(90) };
      return { lease: signLease('s', terms), sandbox_ttl: '30m' };
    },
  };
}

function fakeWorker(id: string): Worker {
  return {
    ...{ id, hostname: 'h', status: 'online', providers: ['userspace'], capabilities: [] },
    ...{
      capacity: { max_sandboxes: 0, memory_mb: 0, vcpus: 1 },
      active_sandboxes: 0,
      active_by_provider: {},
      prewarmed_sandboxes: 0,
      labels: {},
      stale: false,
    },
    ...{ drain: false, last_heartbeat: stamp(), created_at: stamp(), updated_at: stamp() },
  };
}
