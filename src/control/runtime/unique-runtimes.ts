// Where a service names the runtimes, it may name one twice, by error or on purpose. This wrapper gives no runtime to
// two sandboxes and destroys none for a sandbox that does not own it.
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import { ACTIVE_STATES } from '../../domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet, RuntimeRef } from '../../providers/provider.ts';
import type { PrewarmedStore } from '../../store/seam/prewarmed.ts';
import type { SandboxStore } from '../../store/store.ts';

export interface KnownSandboxes {
  sandboxes: Pick<SandboxStore, 'inStates'>;
  warm: Pick<PrewarmedStore, 'all'>;
}

const ALL = 1_000_000;

/**
 * Wraps providers with `namesAreGiven`: `create` throws `provider_error` for a runtime that another sandbox still has,
 * and `destroy` leaves such a runtime alone.
 */
export function uniqueRuntimes(set: ProviderSet, store: KnownSandboxes): ProviderSet {
  const sole = new Map(
    set.all.map((provider) => [provider, provider.namesAreGiven ? soleIn(provider, store) : provider]),
  );
  return {
    all: [...sole.values()],
    get: (name) => sole.get(set.get(name)) as Provider,
    close: () => set.close(),
  };
}

function soleIn(provider: Provider, store: KnownSandboxes): Provider {
  const holders = holdersOf(provider.kind, store);
  return {
    ...provider,
    create: async (spec, signal) => {
      const known = await holders();
      const made = await provider.create(spec, signal);
      // Nothing is awaited from here to the entry: of two sandboxes with the same runtime the first has it.
      if ((known.get(made.runtime_id) ?? spec.id) !== spec.id) throw taken(provider.kind);
      known.set(made.runtime_id, spec.id);
      return made;
    },
    destroy: async (ref, signal) => {
      const known = await holders();
      const runtime_id = ref.runtime_id ?? (await foundByLabel(provider, ref, signal));
      const holder = runtime_id === undefined ? undefined : known.get(runtime_id);
      if ((holder ?? ref.id) === ref.id) await provider.destroy({ ...ref, runtime_id }, signal);
      else if (ref.runtime_id !== undefined) throw taken(provider.kind);
      for (const [name, id] of known) if (id === ref.id) known.delete(name);
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

/** Which sandbox has which runtime: of all servers on this database, and of this one before a row says so. */
function holdersOf(kind: string, { sandboxes, warm }: KnownSandboxes): () => Promise<Map<string, string>> {
  return once(async () => {
    // Prewarmed rows first: one that a spawn takes in between is then found as a sandbox.
    const rows = [...(await warm.all()), ...(await sandboxes.inStates(ACTIVE_STATES, ALL))];
    const own = rows.filter(({ provider, worker_id }) => provider === kind && worker_id === LOCAL_WORKER);
    return new Map(own.flatMap(({ id, runtime_id }) => (runtime_id === undefined ? [] : [[runtime_id, id]])));
  });
}
