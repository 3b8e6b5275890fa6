// A provider of another worker: sandboxes are created, inspected and destroyed by calls under a lease, and used over sessions
// (session.ts). Sandboxes are not listed because the worker may run others.
import type { SandboxIo } from '../../agent/io.ts';

import { refuseDifferences } from '../../domain/differences.ts';
import { formatDuration } from '../../domain/duration.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import type { Clock } from '../../domain/ports.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import { type Validator, validator } from '../../schema/validator.ts';
import {
  RpcDestroyResult,
  RpcSpawnResult,
  RpcStatusResult,
  type RpcStatusResult as Status,
} from '../../schema/worker-rpc.ts';
import { hadNoEffect } from '../outgoing/faults.ts';
import type { Created, Provider, RuntimeRef, RuntimeSpec } from '../provider.ts';
import { type WorkerCall, WorkerDiffers } from './call.ts';
import { reportedDifferences } from './reported-differences.ts';

const SPAWNED = validator(RpcSpawnResult, 'result');
const DESTROYED = validator(RpcDestroyResult, 'result');
const STATUS = validator(RpcStatusResult, 'result');

/** Opens a session into a sandbox of the worker. */
export type OpenWorkerSession = (
  target: { ref: RuntimeRef; provider: ProviderKind },
  signal: AbortSignal,
) => Promise<SandboxIo>;

type CallWorker = <T>(call: WorkerCall) => Promise<T>;

/** One provider of one worker. */
export interface RemoteKind {
  worker_id: string;
  kind: ProviderKind;
}

export function workerProvider(
  { worker_id, kind }: RemoteKind,
  { call, open }: { call: CallWorker; open: OpenWorkerSession },
  clock: Clock,
): Provider {
  const target = ({ id, runtime_id }: RuntimeRef) => ({
    sandbox_id: id,
    provider: kind,
    ...(runtime_id !== undefined && { runtime_id }),
  });
  return {
    kind,
    capabilities: [],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: (spec, signal) => create({ worker_id, kind, call, clock }, spec, signal),
    inspect: async (ref, signal) => {
      const fault = aboutThat(STATUS, ref, kind);
      const status = await call<Status>({ method: 'worker.status', params: target(ref), fault, signal });
      return status.state;
    },
    destroy: async (ref, signal) => {
      const fault = aboutThat(DESTROYED, ref, kind);
      await call({ method: 'worker.destroy', params: target(ref), lease: ref.lease, fault, signal });
    },
    attach: (ref, signal) => open({ ref, provider: kind }, signal),
    list: async () => [],
    close: async () => {},
  };
}

async function create(
  { worker_id, kind, call, clock }: RemoteKind & { call: CallWorker; clock: Clock },
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const { id, image, memory_mb, vcpus, network, expires_at, lease } = spec;
  const leftMs = Math.max(1000, Date.parse(expires_at) - clock.now());
  const params = {
    sandbox_id: id,
    provider: kind,
    memory_mb,
    vcpus,
    network,
    ttl: formatDuration(leftMs),
    ...(image !== undefined && { image }),
    ...(spec.strict && { strict: true }),
  };
  const fault = withinRequest(aboutThat(SPAWNED, spec, kind), spec);
  const order = { method: 'worker.spawn', params, lease, fault, signal } as const;
  const made = await call<RpcSpawnResult>(order).catch((error: unknown) => {
    if (error instanceof WorkerDiffers)
      refuseDifferences(true, reportedDifferences(worker_id, spec, unmetIn(error)));
    throw hadNoEffect(error) ? asNotStarted(error, signal) : error;
  });
  return {
    runtime_id: made.runtime_id,
    image: made.image ?? image ?? kind,
    memory_mb: made.memory_mb ?? memory_mb,
    vcpus: made.vcpus ?? vcpus,
    warnings: reportedDifferences(worker_id, spec, made.warnings ?? []),
  };
}

/** The differences in the refusal of a strict spawn; never none. */
const unmetIn = ({ message, text }: WorkerDiffers): string[] => [
  text.replace(message, '').trim() || 'a difference without words',
];

/** Also rejects a result for another sandbox or provider. */
function aboutThat(shape: Validator, { id }: Pick<RuntimeRef, 'id'>, kind: ProviderKind): Validator {
  return (result) => {
    const { sandbox_id, provider } = result as { sandbox_id?: unknown; provider?: unknown };
    return (
      shape(result) ?? (sandbox_id === id && provider === kind ? undefined : 'The result is about another.')
    );
  };
}

/** A provider may raise smaller requests: a virtual machine does not start with less than 96 MB. */
const RAISED_MB = 128;

/** Also rejects a sandbox that is larger than requested, or on a worker that does not hold the lease. */
function withinRequest(shape: Validator, { memory_mb, vcpus, lease }: RuntimeSpec): Validator {
  return (result) => {
    const fault = shape(result);
    if (fault !== undefined) return fault;
    const made = result as RpcSpawnResult;
    const isSmaller = (made.memory_mb ?? 0) <= Math.max(memory_mb, RAISED_MB) && (made.vcpus ?? 0) <= vcpus;
    const isTheirs = lease === undefined || made.worker_id === lease.holder_id;
    return isSmaller && isTheirs ? undefined : 'The result is not what was asked for.';
  };
}
