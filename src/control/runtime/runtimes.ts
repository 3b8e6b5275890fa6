// What a sandbox row runs on: its own runtime at its provider, or a user in a VM of the pool (tenants.ts). Everything
// that starts, reaches or ends sandboxes uses this, so that no other code tells the two apart.
import type { SandboxIo } from '../../agent/io.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet, RuntimeSpec, RuntimeState, Started } from '../../providers/provider.ts';
import type { Reading } from '../../providers/reading.ts';
import type { ImagePolicy } from '../../schema/image-policy.ts';
import type { SandboxRecord } from '../../store/store.ts';

/** The part of a row that identifies its runtime. */
export type Runtime = Pick<SandboxRecord, 'id' | 'epoch' | 'provider'> &
  Partial<Pick<SandboxRecord, 'runtime_id' | 'vm_id' | 'uid' | 'worker_id'>>;

/** What a runtime is created from. */
export interface RuntimePlan {
  row: SandboxRecord;
  /** Undefined: the provider's default. */
  image: string | undefined;
  /** Absent: `optional`. */
  image_policy?: ImagePolicy | undefined;
  /** Whether it may use images that were pulled with credentials; absent: not. */
  private_images?: boolean | undefined;
  /** Its programs connect through a transparent gate. */
  gate?: true;
  /** Ports by which they connect. */
  listens?: RuntimeSpec['listens'];
  /** A certificate in PEM that its programs are to trust. */
  trust?: string | undefined;
  /** Any warning is a refusal. */
  strict: boolean;
}

/** The methods of Provider, for rows. */
export interface Runtimes {
  create(plan: RuntimePlan, signal: AbortSignal): Promise<Started>;
  inspect(row: Runtime, signal: AbortSignal): Promise<RuntimeState>;
  /** As of a provider; undefined for one of this server. */
  hasCurrentImage(row: Runtime, signal: AbortSignal): Promise<boolean | undefined>;
  /** Idempotent; resolves only when nothing of it is left. */
  destroy(row: Runtime, signal: AbortSignal): Promise<void>;
  attach(row: Runtime, signal: AbortSignal): Promise<SandboxIo>;
  /**
   * What rows of one provider and worker use, by sandbox; those that cannot be measured are left out. Rows of a VM of the pool are
   * not measured.
   */
  usage(rows: readonly Runtime[], signal: AbortSignal): Promise<Map<string, Reading>>;
  /** What can be done inside it; nothing on a worker without sessions. Throws `unavailable` for a worker that cannot be called. */
  capabilities(row: Runtime): Promise<readonly string[]>;
}

export interface RuntimesDeps {
  providers: ProviderSet;
  clock: Clock;
  logger: Logger;
  /** Handles rows with a `vm_id`. */
  tenants: Omit<Runtimes, 'capabilities' | 'usage' | 'hasCurrentImage'>;
  /** Handles rows of other workers. */
  remote: Runtimes;
}

export function runtimes({ providers, logger, tenants, remote, clock }: RuntimesDeps): Runtimes {
  /** Undefined for a row with a runtime of its own here. */
  const others = ({ vm_id, worker_id = LOCAL_WORKER }: Runtime) => {
    if (worker_id !== LOCAL_WORKER) return remote;
    return vm_id === undefined ? undefined : tenants;
  };
  const own = ({ provider }: Runtime) => providers.get(provider);
  return {
    create: async (plan, signal) => {
      const elsewhere = others(plan.row);
      if (elsewhere) return elsewhere.create(plan, signal);
      const deadline = clock.monotonic() + Date.parse(plan.row.expires_at) - clock.now();
      return createHere(own(plan.row), { ...runtimeSpec(plan), deadline }, signal);
    },
    inspect: async (row, signal) =>
      others(row)?.inspect(row, signal) ?? own(row).inspect(runtimeRef(row), signal),
    hasCurrentImage: async (row, signal) =>
      others(row) === remote ? remote.hasCurrentImage(row, signal) : undefined,
    destroy: async (row, signal) => {
      if (isOfRemoved(providers, row)) logger.warn({ sandbox_id: row.id, provider: row.provider }, LEFT);
      else await (others(row)?.destroy(row, signal) ?? own(row).destroy(runtimeRef(row), signal));
    },
    attach: async (row, signal) =>
      others(row)?.attach(row, signal) ?? own(row).attach(runtimeRef(row), signal),
    usage: async (rows, signal) => {
      const [first] = rows;
      if (!first) return new Map();
      if (others(first) === remote) return remote.usage(rows, signal);
      const refs = rows.filter(({ vm_id }) => vm_id === undefined).map(runtimeRef);
      if (isOfRemoved(providers, first) || refs.length === 0) return new Map();
      return (await own(first).usage?.(refs, signal)) ?? new Map();
    },
    capabilities: async (row) => (others(row) === remote ? remote.capabilities(row) : own(row).capabilities),
  };
}

/** Gets the image first: a pull may take longer than a start. */
export async function createHere(
  provider: Provider,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Started> {
  const notes = await wrapNotStarted(provider.readyImage?.(spec, signal) ?? noNotes(), signal);
  const created = await provider.create(spec, signal);
  return notes.length === 0 ? created : { ...created, notes };
}

const noNotes = async (): Promise<string[]> => [];

const LEFT =
  'Ending a sandbox without its runtime because its provider is not configured. The runtime is removed once the provider is configured again.';

/** Whether the provider of a row of this server is no longer configured: then its runtime cannot be reached. */
export function isOfRemoved(
  { all }: ProviderSet,
  { provider, worker_id = LOCAL_WORKER }: Pick<Runtime, 'provider' | 'worker_id'>,
): boolean {
  return worker_id === LOCAL_WORKER && all.every(({ kind }) => kind !== provider);
}

export const runtimeRef = ({ runtime_id, id, epoch }: Pick<Runtime, 'runtime_id' | 'id' | 'epoch'>) => ({
  runtime_id,
  id,
  epoch,
});

export function runtimeSpec(plan: RuntimePlan): RuntimeSpec {
  const { row, image, image_policy, private_images, gate, listens, trust, strict } = plan;
  const { id, epoch, memory_mb, vcpus, network, expires_at, owner_id: account } = row;
  const spec = { id, epoch, image, memory_mb, vcpus, network, expires_at };
  return {
    ...spec,
    ...(account !== undefined && { account }),
    ...(image_policy !== undefined && { image_policy }),
    ...(private_images && { private_images }),
    ...(gate && { gate }),
    ...(listens && { listens }),
    ...(trust !== undefined && { trust }),
    ...(strict && { strict }),
  };
}
