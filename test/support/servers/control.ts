// A whole control plane over the memory store and a fake provider, with time in the test's hand.
import { setMaxListeners } from 'node:events';
import type { Caller } from '../../../src/control/api/caller.ts';
import type { ControlPlane } from '../../../src/control/api/control-plane.ts';
import { createControlPlane } from '../../../src/control/create.ts';
import { ByteLedger, type Hold, SERVICE_ACCOUNT } from '../../../src/domain/byte-ledger.ts';
import type { LiveConfig } from '../../../src/domain/live-config.ts';
import type { Boot } from '../../../src/domain/ports.ts';
import { eventWriter } from '../../../src/events/batch-writer.ts';
import { eventBus } from '../../../src/events/bus.ts';
import { guard } from '../../../src/providers/guard.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import { providerSet } from '../../../src/providers/registry.ts';
import type { Config } from '../../../src/schema/config.ts';
import type { Event, EventDraft } from '../../../src/schema/event.ts';
import type { Store } from '../../../src/store/store.ts';
import { fixedConfig, type Partially, testConfig } from '../config.ts';
import { type FakeDeps, fakeDeps } from '../fakes/ports.ts';
import { type FakeProvider, fakeProvider } from '../fakes/provider.ts';
import { type FakeRemote, fakeRemote } from '../fakes/remote.ts';
import { memoryStore } from '../memory-store/store.ts';
import { type ScriptedProvider, scriptedProvider } from '../scripted/provider.ts';

export const api: Caller = { role: 'api', actor: 'api:X-API-Key', credential: 'c1', request_id: 'r1' };
export const admin: Caller = {
  role: 'admin',
  actor: 'admin:X-Admin-API-Key',
  credential: 'c0',
  request_id: 'r0',
};
export const owned = (owner: string): Caller => ({ ...api, owner });
/** Of a caller who stays: shared by all calls of a test. */
export const forever = new AbortController().signal;
setMaxListeners(0, forever);
/** Of a call that may keep whatever it likes. */
export const roomy: Hold = new ByteLedger(Number.MAX_SAFE_INTEGER, { monotonic: () => 0 }).open(
  SERVICE_ACCOUNT,
);

export interface World extends FakeDeps {
  store: Store;
  fake: FakeProvider;
  provider: ScriptedProvider;
  control: ControlPlane;
  /** Told to listeners, in order. */
  told: EventDraft[];
  config: LiveConfig;
  /** Other workers, where there are any. */
  remote: FakeRemote;
  /** The machine's: another id stands for another boot. */
  boot: Boot;
  /** Everything buffered is stored; all events there are. */
  events(): Promise<Event[]>;
  /** As a crash and a new start: nothing of the old control plane goes on. */
  restart(): Promise<void>;
}

/** Not started: call `control.start()` for background work. `traits` are what the provider says of itself. */
export function world(
  config: Partially<Config> = {},
  traits: Partial<Pick<Provider, 'kind' | 'namesAreGiven' | 'hasNetwork' | 'refuseImage' | 'imageId'>> = {},
): World {
  const deps = fakeDeps();
  const fake = Object.assign(fakeProvider(deps), traits);
  const store = memoryStore(deps);
  const told: EventDraft[] = [];
  const made: World = {
    ...{ ...deps, fake, store, told, config: fixedConfig(testConfig(config)), remote: fakeRemote(deps) },
    provider: scriptedProvider(fake),
    boot: { id: 'boot-1', elapsedMs: () => deps.clock.monotonic() },
    control: undefined as unknown as ControlPlane,
    events: async () => [],
    restart: async () => {},
  };
  build(made);
  return made;
}

/** The old one is cut off from store, provider and time, so that it can do nothing any more. */
function build(made: World): void {
  let dead = false;
  const cut = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function')
          return typeof value === 'object' && value !== null ? cut(value) : value;
        // It answers at once and touches nothing: no promise can stand for it.
        const cuttable = name !== 'describe';
        return (...args: unknown[]) =>
          dead && cuttable ? new Promise(() => {}) : Reflect.apply(value, target, args);
      },
    });
  const store = cut(made.store);
  const clock = {
    ...made.clock,
    after: (ms: number, run: () => void) => made.clock.after(ms, () => dead || run()),
  };
  const bus = eventBus(made);
  bus.subscribe((event) => void made.told.push(event));
  const { append } = store.events;
  const writer = eventWriter({
    append,
    deliver: (events) => bus.publish(events),
    clock,
    logger: made.logger,
  });
  const providers = providerSet([guard(cut(made.provider), { clock, logger: made.logger })]);
  const host = { cpus: 4 };
  const rest = {
    store,
    providers,
    bus,
    writer,
    clock,
    host,
    version: '0.0.0',
    redact: (value: unknown) => value,
  };
  made.control = createControlPlane({ ...made, ...rest });
  made.events = async () => {
    await writer.flush();
    return made.store.events.since(0, 1_000_000);
  };
  made.restart = async () => {
    dead = true;
    for (const runtime of made.fake.runtimes.values()) for (const io of runtime.sessions) io.die();
    build(made);
    await made.control.start();
  };
}
