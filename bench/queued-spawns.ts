// Spawns that wait in a control plane of the bench's own.

import type { ControlPlane } from '../src/control/api/control-plane.ts';
import type { Watched } from './control-plane.ts';

const PLACES = 4;
const OWNERS = 50;

/** SVC_ variables of a plane with room for few and a queue for all. */
export const QUEUEING = {
  SVC_DATABASE_PATH: 'svc.db',
  SVC_DEFAULTS_MAX_SANDBOXES: String(PLACES),
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '1h',
  SVC_DEFAULTS_MAX_SPAWN_QUEUE: '20000',
};

const CALLER = { role: 'admin', actor: 'bench', credential: 'bench', request_id: 'bench' } as const;

export class Crowd {
  readonly #planes: readonly ControlPlane[];
  readonly #running: string[] = [];
  #asked = 0;
  #heard: () => void = () => {};

  /** Calls go to the planes in turn. */
  constructor(...planes: readonly [ControlPlane, ...ControlPlane[]]) {
    this.#planes = planes;
  }

  /** So many wait; asks for as many as it takes. */
  async wait(count: number): Promise<void> {
    while (this.#asked < count + PLACES) this.#ask();
    while ((await this.#depth()) < count) await pause(20);
  }

  /** One goes, the next one has started, and one more has come. */
  async replace(): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#heard = resolve;
    });
    await this.#plane.sandboxes.destroy(this.#running.shift() ?? '', CALLER);
    await started;
    this.#ask();
    // What that takes is not the next one's.
    await pause(0);
  }

  /** Refused when the plane stops. */
  #ask(): void {
    const caller = { ...CALLER, owner: `owner-${this.#asked++ % OWNERS}` };
    this.#plane.sandboxes.spawn({ ttl: '1h' }, caller, {}, new AbortController().signal).then(
      ({ id }) => {
        this.#running.push(id);
        this.#heard();
      },
      () => {},
    );
  }

  async #depth(): Promise<number> {
    return (await this.#plane.sandboxes.admission({}, CALLER)).queue_depth;
  }

  get #plane(): ControlPlane {
    return this.#planes[this.#asked % this.#planes.length]!;
  }
}

/** The same without a queue: an array gives the order, and there is always capacity. */
export class FreeLine {
  readonly #control: ControlPlane;
  readonly #waiting = Array.from({ length: OWNERS }, (_, n) => `owner-${n}`);
  #running: string | undefined;

  constructor(control: ControlPlane) {
    this.#control = control;
  }

  /** One goes, the next one has started. */
  async replace(): Promise<void> {
    const { sandboxes } = this.#control;
    if (this.#running !== undefined) await sandboxes.destroy(this.#running, CALLER);
    const owner = this.#waiting.shift() ?? '';
    this.#waiting.push(owner);
    const { signal } = new AbortController();
    this.#running = (await sandboxes.spawn({ ttl: '1h' }, { ...CALLER, owner }, {}, signal)).id;
    await pause(0);
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Times from the commit that frees capacity to the provider call for the next waiting spawn. */
export function handoffs(): { watched: Watched; next(crowd: Crowd): Promise<number> } {
  const at = { freed: 0, begun: 0 };
  return {
    watched: {
      freed: () => {
        at.freed = performance.now();
      },
      creating: () => {
        at.begun = performance.now();
      },
    },
    next: async (crowd) => {
      await crowd.replace();
      return at.begun - at.freed;
    },
  };
}
