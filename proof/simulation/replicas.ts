// Several control planes over one store and one fleet of workers. Each can be killed, and frozen between any two steps: then
// nothing of it goes on until it is thawed, while time passes for everybody else.

import type { ControlPlane } from '../../src/control/api/control-plane.ts';
import { createControlPlane } from '../../src/control/create.ts';
import type { Clock } from '../../src/domain/ports.ts';
import { eventWriter } from '../../src/events/batch-writer.ts';
import { eventBus } from '../../src/events/bus.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { providerSet } from '../../src/providers/registry.ts';
import type { Store } from '../../src/store/store.ts';
import { type StoreLine, storeOver } from '../../test/support/memory-store/shared.ts';
import type { World } from '../../test/support/servers/control.ts';

const RESTART_MS = 1000;

export class Replica {
  readonly #world: World;
  readonly #fate: StoreLine['fate'];
  readonly #skewMs: number;
  #life = new Life();
  control: ControlPlane;
  /** Until when it believes to have every role, whatever the store says, by monotonic time. */
  usurpsUntil = 0;

  /** `skewMs`: how far the clock of its machine is ahead. */
  constructor(world: World, fate: StoreLine['fate'], skewMs = 0) {
    this.#world = world;
    this.#fate = fate;
    this.#skewMs = skewMs;
    this.control = this.#build();
  }

  get isFrozen(): boolean {
    return this.#life.isFrozen;
  }

  /** As a kill and a new start, which is repeated until the process serves. Resolves then. */
  async restart(): Promise<void> {
    this.#life.end();
    const life = new Life();
    this.#life = life;
    this.control = this.#build();
    try {
      await this.control.start();
    } catch {
      await this.#world.clock.sleep(RESTART_MS);
      if (this.#life === life) await this.restart();
    }
  }

  freeze(): void {
    this.#life.freeze();
  }

  thaw(): void {
    this.#life.thaw();
  }

  #believing(store: Store): Store {
    const { beat } = store.replicas;
    return {
      ...store,
      replicas: {
        ...store.replicas,
        beat: async (self) => {
          const { replicas, roles } = await beat(self);
          const holder = { holder: self.id };
          const isUsurper = this.#world.clock.monotonic() < this.usurpsUntil;
          return { replicas, roles: isUsurper ? roles.map((role) => ({ ...role, ...holder })) : roles };
        },
      },
    };
  }

  #build(): ControlPlane {
    const [w, life] = [this.#world, this.#life];
    const clock = clockOf({ ...w.clock, now: () => w.clock.now() + this.#skewMs }, life);
    const store = this.#believing(
      storeOver(w.store, { clock: w.clock, fate: this.#fate, turn: () => life.turn() }),
    );
    const bus = eventBus(w);
    const writer = eventWriter({
      append: (drafts) => store.events.append(drafts),
      deliver: (events) => bus.publish(events),
      clock,
      logger: w.logger,
    });
    return createControlPlane({
      ...{ ...w, store, bus, writer, clock },
      providers: providerSet([inTurn(w.provider, life)]),
      remote: {
        ...w.remote,
        of: (worker, kind) => inTurn(w.remote.of(worker, kind) as Provider, life),
        renew: async (...call) => {
          await life.turn();
          await w.remote.renew(...call);
          await life.turn();
        },
      },
      host: { cpus: 4 },
      version: '0.0.0',
      redact: (value: unknown) => value,
    });
  }
}

/** Whether a process goes on. */
class Life {
  #isOver = false;
  #thawed: Promise<void> | undefined;
  #thaw: () => void = () => undefined;

  get isFrozen(): boolean {
    return this.#thawed !== undefined;
  }

  async turn(): Promise<void> {
    while (this.#thawed && !this.#isOver) await this.#thawed;
    if (this.#isOver) await new Promise(() => {});
  }

  freeze(): void {
    this.#thawed ??= new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thawed = undefined;
    this.#thaw();
  }

  end(): void {
    this.#isOver = true;
    this.#thaw();
  }
}

/** Timers that come due while the process is frozen run when it is thawed. */
function clockOf(clock: Clock, life: Life): Clock {
  return {
    ...clock,
    after: (ms, run) => {
      let isCancelled = false;
      const timer = clock.after(ms, () => {
        void life.turn().then(() => isCancelled || run());
      });
      return {
        cancel: () => {
          isCancelled = true;
          timer.cancel();
        },
      };
    },
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal);
      await life.turn();
    },
  };
}

/** What has been sent arrives, also when its sender froze or died on the way. */
function inTurn(provider: Provider, life: Life): Provider {
  return new Proxy(provider, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'describe' || name === 'watch') return value;
      return async (...args: unknown[]) => {
        await life.turn();
        try {
          return await Reflect.apply(value, target, args);
        } finally {
          await life.turn();
        }
      };
    },
  });
}
