// One seeded run of the queue over three control planes: spawns of some owners wait at any of them, while desks and homes die,
// freeze and lose answers. What must hold is looked at in the store, at each admission.
import { expect } from 'vitest';
import type { WaitingTicket } from '../../src/store/seam/tickets.ts';
import type { Store } from '../../src/store/store.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import type { StoreFate } from '../../test/support/memory-store/shared.ts';
import { memoryStore } from '../../test/support/memory-store/store.ts';
import { api, forever, owned, type World, world } from '../../test/support/servers/control.ts';
import { Replica } from './replicas.ts';

const [CAP, REPLICAS] = [3, 3];
const OWNERS = ['ann', 'bob', 'cid', 'dan'];
const QUEUE = { spawn_overflow: 'queue', spawn_queue_timeout: '10m', max_spawn_queue: 200 } as const;
const FAULTS: StoreFate[] = ['lost', 'late', 'refused'];
/** A home whose beats stood still for longer may count as dead, and its tickets may be passed over. */
const SILENT_MS = 5000;
/** How long the desk may not know a ticket. */
const UNSEEN_MS = 12_000;

interface Sight extends WaitingTicket {
  addedAt: number;
  /** Admissions of each owner when it was added. */
  before: Map<string, number>;
}

export class QueueRun {
  readonly w: World;
  readonly replicas: Replica[];
  readonly #random: ReturnType<typeof seededRandom>;
  /** When each home beat last, and when it was silent last. */
  readonly #beats = new Map<string, { at: number; silentAt: number }>();
  readonly #sights = new Map<string, Sight>();
  readonly #admitted = new Map<string, number>();
  readonly violations: string[] = [];
  admissions = 0;
  isFaulty = false;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const alone = world({ defaults: { max_sandboxes: CAP, ...QUEUE } });
    const store = memoryStore({ ...alone, isShared: true });
    this.w = { ...alone, store: this.#observed(store) };
    this.replicas = Array.from(
      { length: REPLICAS },
      (_, n) => new Replica(this.w, () => this.#fate(), n * 3_600_000),
    );
  }

  roll = (sides: number) => this.#random.bytes(4).readUInt32LE() % sides;

  any = () => this.replicas[this.roll(REPLICAS)] as Replica;

  async start(): Promise<void> {
    for (const replica of this.replicas) await replica.control.start();
    await this.w.clock.advance(2000);
  }

  async step(): Promise<void> {
    const { roll, w } = this;
    const replica = this.any();
    const steps: (() => unknown)[] = [
      ...Array(4).fill(() => this.spawn()),
      ...Array(4).fill(() => this.end()),
      () => (this.isFaulty && roll(3) === 0 ? replica.freeze() : undefined),
      ...Array(2).fill(() => replica.thaw()),
      () => (this.isFaulty && roll(3) === 0 ? void replica.restart() : undefined),
      () => w.clock.advance(roll(this.isFaulty ? 15_000 : 2000)),
    ];
    await steps[roll(steps.length)]?.();
    await w.clock.advance(roll(800));
  }

  /** Nobody waits for it. */
  spawn(owner = OWNERS[this.roll(OWNERS.length)] as string, replica = this.any()): void {
    const key = this.roll(3) === 0 ? { idempotencyKey: `k${this.roll(1e6)}` } : {};
    replica.control.sandboxes
      .spawn({ ttl: '1h' }, owned(owner), key, forever)
      .catch((error: { name?: string; code?: string }) => {
        if (error.name !== 'ServiceError' || error.code === 'internal') this.violations.push(String(error));
      });
  }

  /** Ends one that runs. */
  async end(): Promise<void> {
    const running = await this.w.store.sandboxes.list({ state: 'running', limit: 100 });
    const row = running[this.roll(Math.max(1, running.length))];
    if (row)
      this.any()
        .control.sandboxes.destroy(row.id, api)
        .catch(() => undefined);
  }

  /** Faults are over, and all that wait get their turn. */
  async converge(): Promise<void> {
    this.isFaulty = false;
    for (const replica of this.replicas) replica.thaw();
    for (
      let round = 0;
      round < 400 && (round < 100 || (await this.w.store.tickets?.depth()) !== 0);
      round++
    ) {
      await this.end();
      await this.w.clock.advance(1000);
    }
    // Dead homes are forgotten, and answers read.
    await this.w.clock.advance(20_000);
    for (let second = 0; second < 100; second++) await this.w.clock.advance(1000);
    expect(this.violations).toEqual([]);
    expect(await this.w.store.tickets?.homes()).toEqual([]);
    expect(new Set(this.w.fake.made).size, 'one was made twice').toBe(this.w.fake.made.length);
  }

  #observed(store: Store): Store {
    const { sandboxes, replicas } = store;
    const tickets = store.tickets!;
    return {
      ...store,
      replicas: {
        ...replicas,
        beat: async (self) => {
          this.#beat(self.id);
          return replicas.beat(self);
        },
      },
      tickets: {
        ...tickets,
        add: async (ticket, most) => {
          const added = await tickets.add(ticket, most);
          await this.#see(ticket.id, tickets);
          return added;
        },
        adopt: async (claim, home) => {
          const adopted = await tickets.adopt(claim, home);
          if (adopted?.kind === 'adopted') await this.#see(adopted.ticket.id, tickets);
          return adopted;
        },
      },
      sandboxes: {
        ...sandboxes,
        reserve: async (order) => {
          const { ticket } = order;
          const waiting = await tickets.waiting(0);
          const reserved = await sandboxes.reserve(order);
          if (reserved.kind === 'reserved' && ticket) this.#judge(ticket.id, waiting);
          const active = await sandboxes.countActive();
          if (active.total > CAP) this.violations.push('over-admitted');
          return reserved;
        },
      },
    };
  }

  #beat(id: string): void {
    const now = this.w.clock.monotonic();
    const { at = now, silentAt = Number.NEGATIVE_INFINITY } = this.#beats.get(id) ?? {};
    this.#beats.set(id, { at: now, silentAt: now - at > SILENT_MS ? now : silentAt });
  }

  async #see(id: string, tickets: NonNullable<Store['tickets']>): Promise<void> {
    const ticket = (await tickets.waiting(0)).find((one) => one.id === id);
    const addedAt = this.w.clock.monotonic();
    if (ticket) this.#sights.set(id, { ...ticket, addedAt, before: new Map(this.#admitted) });
  }

  /** Nobody of its owner with an earlier ticket, and no other owner for more than a round, was passed over. */
  #judge(id: string, waiting: readonly WaitingTicket[]): void {
    const own = waiting.find((ticket) => ticket.id === id) as WaitingTicket;
    this.admissions++;
    const count = (this.#admitted.get(own.owner_id) ?? 0) + 1;
    this.#admitted.set(own.owner_id, count);
    for (const other of waiting.filter((one) => one.id !== id && this.#mustBeServed(one.id))) {
      const sight = this.#sights.get(other.id) as Sight;
      if (other.owner_id === own.owner_id && other.seq < own.seq)
        this.violations.push(`${id} went ahead of ${other.id} of the same owner`);
      const isFirst = !waiting.some((one) => one.owner_id === other.owner_id && one.seq < other.seq);
      const before = sight.before.get(own.owner_id) ?? 0;
      // Before its owner's turn the others have theirs, and the ticket of the owner that was served last.
      const served = (this.#admitted.get(other.owner_id) ?? 0) - (sight.before.get(other.owner_id) ?? 0);
      if (isFirst && other.owner_id !== own.owner_id && served === 0 && count - before > 2)
        this.violations.push(`${own.owner_id} was served ${count - before} times while ${other.id} waited`);
    }
  }

  /** The desk knows the ticket, and its home has been alive since. */
  #mustBeServed(id: string): boolean {
    const now = this.w.clock.monotonic();
    const sight = this.#sights.get(id);
    const beat = this.#beats.get(sight?.home ?? '');
    if (!sight || !beat || now - sight.addedAt < UNSEEN_MS) return false;
    const silentFor = now - beat.at;
    return silentFor < SILENT_MS && now - beat.silentAt > UNSEEN_MS;
  }

  #fate(): { kind: StoreFate; ms: number } {
    const { roll } = this;
    const isFault = this.isFaulty && roll(40) === 0;
    const kind = isFault ? (FAULTS[roll(FAULTS.length)] ?? 'pass') : 'pass';
    return { kind, ms: this.isFaulty && roll(6) === 0 ? roll(300) : 0 };
  }
}
