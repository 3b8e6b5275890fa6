// A provider of another worker, as one of ours: started, looked at and ended by calls under a lease. Nothing inside its
// sandboxes is reached that way, and what it runs for others is not ours to list.
import { formatDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { notBegun } from '../../domain/not-begun.ts';
import type { Clock } from '../../domain/ports.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import { validator } from '../../schema/validator.ts';
import {
  RpcDestroyResult,
  RpcSpawnResult,
  RpcStatusResult,
  type RpcStatusResult as Status,
} from '../../schema/worker-rpc.ts';
import { isUndone } from '../outgoing/faults.ts';
import type { Created, Provider, RuntimeRef, RuntimeSpec } from '../provider.ts';
import type { WorkerCall } from './call.ts';

const SPAWNED = validator(RpcSpawnResult, 'result');
const DESTROYED = validator(RpcDestroyResult, 'result');
const STATUS = validator(RpcStatusResult, 'result');

export type Call = <T>(call: WorkerCall) => Promise<T>;

export function workerProvider(kind: ProviderKind, call: Call, clock: Clock): Provider {
  const place = ({ id, runtime_id }: RuntimeRef) => ({
    ...{ sandbox_id: id, provider: kind },
    ...(runtime_id !== undefined && { runtime_id }),
  });
  return {
    kind,
    capabilities: [],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: (spec, signal) => create({ kind, call, clock }, spec, signal),
    inspect: async (ref, signal) => {
      const status = await call<Status>({
        ...{ method: 'worker.status', params: place(ref), fault: STATUS, signal },
      });
      return status.state;
    },
    destroy: async (ref, signal) => {
      await call({
        ...{ method: 'worker.destroy', params: place(ref), lease: ref.lease, fault: DESTROYED, signal },
      });
    },
    attach: async () => {
      throw new ServiceError('not_implemented', 'Nothing inside a sandbox of another worker is reached.');
    },
    list: async () => [],
    close: async () => {},
  };
}

async function create(
  { kind, call, clock }: { kind: ProviderKind; call: Call; clock: Clock },
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const { id, image, memory_mb, vcpus, network, expires_at, lease } = spec;
  const leftMs = Math.max(1000, Date.parse(expires_at) - clock.now());
  const params = {
    ...{ sandbox_id: id, provider: kind, memory_mb, vcpus, network, ttl: formatDuration(leftMs) },
    ...(image !== undefined && { image }),
  };
  const order = { method: 'worker.spawn', params, lease, fault: SPAWNED, signal } as const;
  const made = await call<RpcSpawnResult>(order).catch((error: unknown) => {
    throw isUndone(error) ? notBegun(error, signal) : error;
  });
  return {
    runtime_id: made.runtime_id,
    image: made.image ?? image ?? kind,
    memory_mb: made.memory_mb ?? memory_mb,
    vcpus: made.vcpus ?? vcpus,
    warnings: made.warnings ?? [],
  };
}
