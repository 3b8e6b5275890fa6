// Where a service names the runtimes, it may name one twice, by error or on purpose. This wrapper gives no runtime to
// two sandboxes, of all servers on the store, and destroys none for a sandbox that does not own it.
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import { ACTIVE_STATES } from '../../domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet, RuntimeRef } from '../../providers/provider.ts';
import type { PrewarmedStore } from '../../store/seam/prewarmed.ts';
import type { RuntimeStore } from '../../store/seam/runtimes.ts';
import type { SandboxStore } from '../../store/store.ts';

export interface KnownSandboxes {
  sandboxes: Pick<SandboxStore, 'inStates'>;
  warm: Pick<PrewarmedStore, 'all'>;
  /** Absent where one process has the store for itself. */
  runtimes?: RuntimeStore;
}

const ALL = 1_000_000;

/**
 * Wraps providers with `namesAreGiven`: `create` throws `provider_error` for a runtime that another sandbox still has,
 * and `destroy` leaves such a runtime alone.
 */
export function uniqueRuntimes(set: ProviderSet, store: KnownSandboxes): ProviderSet {
  const runtimes = store.runtimes ?? ownRuntimes(store);
  const sole = new Map(
    set.all.map((provider) => [provider, provider.namesAreGiven ? soleIn(provider, runtimes) : provider]),
  );
  return {
    all: [...sole.values()],
    get: (name) => sole.get(set.get(name)) as Provider,
    close: () => set.close(),
  };
}

function soleIn(provider: Provider, runtimes: RuntimeStore): Provider {
  const { kind } = provider;
  const adopted = once(() => runtimes.adopt(kind));
  return {
    ...provider,
    create: async (spec, signal) => {
      await adopted();
      const made = await provider.create(spec, signal);
      if ((await runtimes.assign(kind, made.runtime_id, spec.id)) !== spec.id) throw taken(kind);
      return made;
    },
    destroy: async (ref, signal) => {
      await adopted();
      const runtime_id = ref.runtime_id ?? (await foundByLabel(provider, ref, signal));
      const holder = runtime_id === undefined ? undefined : await runtimes.find(kind, runtime_id);
      if ((holder ?? ref.id) === ref.id) await provider.destroy({ ...ref, runtime_id }, signal);
      else if (ref.runtime_id !== undefined) throw taken(kind);
      await runtimes.release(ref.id);
    },
  };
}

async function foundByLabel(
  provider: Provider,
  { id, epoch }: RuntimeRef,
  signal: AbortSignal,
): Promise<string | undefined> {
  const listed = await provider.list(signal);
  return listed.find((one) => one.id === id && one.epoch === epoch)?.runtime_id;
}

function taken(kind: string): ServiceError {
  return new ServiceError('provider_error', `Provider ${kind} returned the runtime of another sandbox.`, {
    remedy: 'Make the service behind it give every runtime a unique name.',
  });
}

/** Runtimes of the only process on a store, in memory. */
function ownRuntimes({ sandboxes, warm }: KnownSandboxes): RuntimeStore {
  const holders = new Map<string, string>();
  const keyOf = (provider: string, runtime_id: string) => `${provider} ${runtime_id}`;
  const assign: RuntimeStore['assign'] = async (provider, runtime_id, sandbox_id) => {
    const key = keyOf(provider, runtime_id);
    const holder = holders.get(key) ?? sandbox_id;
    holders.set(key, holder);
    return holder;
  };
  return {
    assign,
    adopt: async (provider) => {
      // Prewarmed rows first: one that a spawn takes in between is then found as a sandbox.
      const rows = [...(await warm.all()), ...(await sandboxes.inStates(ACTIVE_STATES, ALL))];
      const own = rows.filter((row) => row.provider === provider && row.worker_id === LOCAL_WORKER);
      for (const { id, runtime_id } of own)
        if (runtime_id !== undefined) await assign(provider, runtime_id, id);
    },
    find: async (provider, runtime_id) => holders.get(keyOf(provider, runtime_id)),
    release: async (sandbox_id) => {
      for (const [key, id] of holders) if (id === sandbox_id) holders.delete(key);
    },
  };
}
