// What a sandbox row runs on: its own runtime at its provider, or a user in a VM of the pool (tenants.ts). Everything
// that starts, reaches or ends sandboxes uses this, so that no other code tells the two apart.
import type { SandboxIo } from '../../agent/io.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Created, ProviderSet, RuntimeSpec, RuntimeState } from '../../providers/provider.ts';
import type { SandboxRecord } from '../../store/store.ts';

/** The part of a row that identifies its runtime. */
export type Runtime = Pick<SandboxRecord, 'id' | 'epoch' | 'provider'> &
  Partial<Pick<SandboxRecord, 'runtime_id' | 'vm_id' | 'uid' | 'worker_id'>>;

/** What a runtime is created from. */
export interface RuntimePlan {
  row: SandboxRecord;
  /** Undefined: the provider's default. */
  image: string | undefined;
  /** Any warning is a refusal. */
  strict: boolean;
}

/** The methods of Provider, for rows. */
export interface Runtimes {
  create(plan: RuntimePlan, signal: AbortSignal): Promise<Created>;
  inspect(row: Runtime, signal: AbortSignal): Promise<RuntimeState>;
  /** Idempotent; resolves only when nothing of it is left. */
  destroy(row: Runtime, signal: AbortSignal): Promise<void>;
  attach(row: Runtime, signal: AbortSignal): Promise<SandboxIo>;
  /** What can be done inside it; nothing on a worker without sessions. Throws `unavailable` for a worker that cannot be called. */
  capabilities(row: Runtime): Promise<readonly string[]>;
}

export interface RuntimesDeps {
  providers: ProviderSet;
  clock: Clock;
  logger: Logger;
  /** Handles rows with a `vm_id`. */
  tenants: Omit<Runtimes, 'capabilities'>;
  /** Handles rows of other workers. */
  remote: Runtimes;
}

export function runtimes({ providers, logger, tenants, remote, clock }: RuntimesDeps): Runtimes {
  const own = ownRuntimes(providers, clock);
  const of = ({ vm_id, worker_id = LOCAL_WORKER }: Pick<Runtime, 'vm_id' | 'worker_id'>) => {
    if (worker_id !== LOCAL_WORKER) return remote;
    return vm_id === undefined ? own : tenants;
  };
  return {
    create: (plan, signal) => of(plan.row).create(plan, signal),
    inspect: (row, signal) => of(row).inspect(row, signal),
    destroy: async (row, signal) => {
      if (isOfRemoved(providers, row)) logger.warn({ sandbox_id: row.id, provider: row.provider }, LEFT);
      else await of(row).destroy(row, signal);
    },
    attach: (row, signal) => of(row).attach(row, signal),
    capabilities: (row) => (of(row) === remote ? remote : own).capabilities(row),
  };
}

const LEFT =
  'Ending a sandbox without its runtime because its provider is not configured. The runtime is removed once the provider is configured again.';

/** Whether the provider of a row of this server is no longer configured: then its runtime cannot be reached. */
export function isOfRemoved(
  { all }: ProviderSet,
  { provider, worker_id = LOCAL_WORKER }: Pick<Runtime, 'provider' | 'worker_id'>,
): boolean {
  return worker_id === LOCAL_WORKER && all.every(({ kind }) => kind !== provider);
}

function ownRuntimes(providers: ProviderSet, clock: Clock): Runtimes {
  const refOf = ({ runtime_id, id, epoch }: Runtime) => ({ runtime_id, id, epoch });
  return {
    create: (plan, signal) => {
      const deadline = clock.monotonic() + Date.parse(plan.row.expires_at) - clock.now();
      return providers.get(plan.row.provider).create({ ...runtimeSpec(plan), deadline }, signal);
    },
    inspect: (row, signal) => providers.get(row.provider).inspect(refOf(row), signal),
    destroy: (row, signal) => providers.get(row.provider).destroy(refOf(row), signal),
    attach: (row, signal) => providers.get(row.provider).attach(refOf(row), signal),
    capabilities: async ({ provider }) => providers.get(provider).capabilities,
  };
}

export function runtimeSpec({ row, image, strict }: RuntimePlan): RuntimeSpec {
  const { id, epoch, memory_mb, vcpus, network, expires_at, owner_id: account } = row;
  return {
    id,
    epoch,
    image,
    memory_mb,
    vcpus,
    network,
    expires_at,
    ...(account !== undefined && { account }),
    ...(strict && { strict }),
  };
}
