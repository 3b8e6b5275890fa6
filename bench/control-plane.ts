// A control plane over a real database and a provider that makes nothing: what takes time in it is admission, the queue
// and the store.
import { join } from 'node:path';
import { processLedger } from '../src/app/process-ledger.ts';
import { storeProgram } from '../src/app/store-program.ts';
import { liveConfig } from '../src/config/live-config.ts';
import { loadConfig } from '../src/config/load.ts';
import type { ControlPlane } from '../src/control/api/control-plane.ts';
import { createControlPlane } from '../src/control/create.ts';
import type { Logger } from '../src/domain/ports.ts';
import { eventWriter } from '../src/events/batch-writer.ts';
import { eventBus } from '../src/events/bus.ts';
import { realClock } from '../src/host/clock.ts';
import { realIds } from '../src/host/ids.ts';
import { realRandom } from '../src/host/random.ts';
import type { Provider, ProviderSet, RuntimeListing } from '../src/providers/provider.ts';
import { openSqliteStore, type SqliteStore } from '../src/store/sqlite/open.ts';
import type { Store } from '../src/store/store.ts';

const ignore = () => {};
export const SILENT: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => SILENT,
};

/** The store as a server opens it: every commit is durable, in a thread of its own. Closed after `work`. `root`: of the package. */
export async function withStore<T>(
  root: string,
  home: string,
  work: (store: SqliteStore) => Promise<T>,
): Promise<T> {
  const random = realRandom();
  const deps = { clock: realClock(), random, ids: realIds(random), logger: SILENT };
  const thread = storeProgram(root);
  const store = await openSqliteStore({ ...deps, path: join(home, 'svc.db'), synchronous: 'full', thread });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export interface Watched {
  /** A sandbox has ended, and this is committed. */
  freed(): void;
  /** The provider is asked for a runtime. */
  creating(): void;
}

const UNWATCHED: Watched = { freed: ignore, creating: ignore };

export interface PlaneOptions {
  /** The folder of the package. */
  root: string;
  home: string;
  /** SVC_ variables. */
  env: Record<string, string>;
  watched?: Watched;
}

/** Not started: no background work disturbs. */
export function withPlane<T>(
  { root, home, env, watched = UNWATCHED }: PlaneOptions,
  work: (control: ControlPlane) => Promise<T>,
): Promise<T> {
  return withStore(root, home, (store) => withPlaneOver(store, { home, env, watched }, work));
}

/** Over a store that stays open; planes over one database share their provider. */
export async function withPlaneOver<T>(
  store: Store,
  {
    home,
    env,
    watched,
    provider = nothing(watched),
  }: Required<Omit<PlaneOptions, 'root'>> & { provider?: Provider },
  work: (control: ControlPlane) => Promise<T>,
): Promise<T> {
  const random = realRandom();
  const clock = realClock();
  const { config } = loadConfig({ env, cwd: home, home, uid: 0, isTerminal: false });
  const bus = eventBus({ logger: SILENT });
  const writer = eventWriter({
    clock,
    logger: SILENT,
    append: (drafts) => store.events.append(drafts),
    deliver: (events) => bus.publish(events),
  });
  const control = createControlPlane({
    config: liveConfig(config),
    store: telling(store, watched),
    providers: onlyOne(provider),
    bus,
    writer,
    clock,
    ids: realIds(random),
    random,
    logger: SILENT,
    version: '0.0.0',
    host: { cpus: 2 },
    boot: { id: '', elapsedMs: clock.monotonic },
    ledger: processLedger(config, clock),
    redact: (value) => value,
  });
  try {
    return await work(control);
  } finally {
    await control.stop();
    await writer.close();
  }
}

/** The same store, which reports sandboxes that ended. */
export function telling<S extends Store>(store: S, { freed }: Pick<Watched, 'freed'>): S {
  const { transition } = store.sandboxes;
  const sandboxes: Store['sandboxes'] = {
    ...store.sandboxes,
    transition: async (change) => {
      const done = await transition(change);
      if (done?.sandbox.state === 'destroyed') freed();
      return done;
    },
  };
  return { ...store, sandboxes };
}

/** Runtimes that are only entries of a list. */
export function nothing({ creating }: Pick<Watched, 'creating'>): Provider {
  const made = new Map<string, RuntimeListing>();
  return {
    kind: 'userspace',
    capabilities: [],
    describe: () => ({ isolation: { filesystem: 'none' }, images: ['host'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: async ({ id, epoch, memory_mb, vcpus }) => {
      creating();
      made.set(id, { runtime_id: id, id, epoch, state: 'running', created_at: new Date().toISOString() });
      return { runtime_id: id, image: 'host', memory_mb, vcpus, warnings: [] };
    },
    inspect: async () => 'running',
    destroy: async ({ id }) => void made.delete(id),
    attach: () => Promise.reject(new Error('There is nothing to attach to.')),
    list: async () => [...made.values()],
    close: async () => {},
  };
}

const onlyOne = (provider: Provider): ProviderSet => ({
  all: [provider],
  get: () => provider,
  close: () => provider.close(),
});
