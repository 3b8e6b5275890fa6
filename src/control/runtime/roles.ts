// The roles of this process among those that share a store (store/seam/replicas.ts has the contract). It acts in a role for 2.5 s
// after the start of its last beat that succeeded. It takes a role that nobody has, or whose row stood still for 4 s of its own
// time. Clocks that run at other speeds can lead to two holders for seconds; what a role does is harmless when done twice.
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import {
  type ReplicaStore,
  ROLES,
  type RoleName,
  type RoleRecord,
  type RoleStore,
} from '../../store/seam/replicas.ts';
import type { SignalStore } from '../../store/seam/signals.ts';
import { Sights } from './sights.ts';

const TERM_MS = 2500;
const FREE_AFTER_MS = 4000;

export interface RolesDeps {
  store: { replicas: Pick<ReplicaStore, 'isShared'>; roles: RoleStore; signals: SignalStore };
  /** The id of this process. */
  id: string;
  clock: Clock;
  logger: Logger;
}

/** Called in the turn in which the process gains or loses the role. Must not throw. */
export interface RoleWatch {
  gained?(): void;
  lost?(): void;
}

export class Roles {
  readonly #deps: RolesDeps;
  readonly #sights = new Sights();
  readonly #watches = new Map<RoleName, RoleWatch[]>();
  readonly #held = new Set<RoleName>();
  #until = 0;
  #lapse: Timer | undefined;
  #hasResigned = false;

  constructor(deps: RolesDeps) {
    this.#deps = deps;
  }

  /** Whether other processes share the store, so that a role may move. */
  get areShared(): boolean {
    return this.#deps.store.replicas.isShared;
  }

  /**
   * Whether this process may act in the role now. Ask before each step, such as each row of a round: the answer becomes false
   * when the store does not answer. Always true where nobody shares the store.
   */
  holds(name: RoleName): boolean {
    if (!this.areShared) return true;
    return this.#held.has(name) && this.#deps.clock.monotonic() < this.#until;
  }

  /** Calls `gained` at once if the role is there already. Where nobody shares the store, `gained` is called at the start. */
  watch(name: RoleName, watch: RoleWatch): void {
    this.#watches.set(name, [...(this.#watches.get(name) ?? []), watch]);
    if (this.#held.has(name)) watch.gained?.();
  }

  /** Learns the rows that a beat returned, which began at `since`. Takes what is free. Never rejects. */
  async beaten(since: number, rows: readonly RoleRecord[]): Promise<void> {
    const { id, clock } = this.#deps;
    const own = rows.filter(({ holder }) => holder === id).map(({ name }) => name);
    this.#sights.read(clock.monotonic(), new Map(rows.map((row) => [row.name, markOf(row)])));
    this.#keep(since, this.#hasResigned ? [] : own);
    const free = rows.filter((row) => row.holder !== id && this.#isFree(row));
    await Promise.all(free.map((row) => this.#take(row)));
  }

  /** The store did not answer: until now nobody stood still. */
  failed(): void {
    this.#sights.failed(this.#deps.clock.monotonic());
  }

  /** Gives all roles back, so that others take them at once, and takes none any more. Never rejects. */
  async resign(): Promise<void> {
    const { store, id, logger } = this.#deps;
    this.#hasResigned = true;
    this.#lapse?.cancel();
    this.#keep(0, []);
    try {
      await store.roles.release(id);
      store.signals.send('roles', id);
    } catch (err) {
      logger.debug({ err }, 'Could not give roles back; others take them in 4 s.');
    }
  }

  #isFree({ name, holder }: RoleRecord): boolean {
    if (this.#hasResigned) return false;
    return holder === undefined || this.#sights.silentMs(name) >= FREE_AFTER_MS;
  }

  async #take(row: RoleRecord): Promise<void> {
    const { store, id, clock, logger } = this.#deps;
    const since = clock.monotonic();
    try {
      if (!(await store.roles.take(row, id)) || this.#hasResigned) return;
      logger.info({ role: row.name, before: row.holder }, 'This server has taken a role.');
      this.#keep(since, [...this.#held, row.name]);
    } catch (err) {
      logger.debug({ role: row.name, err }, 'Could not take a role; retrying.');
    }
  }

  /** From `since` on the process has exactly these roles. */
  #keep(since: number, names: readonly RoleName[]): void {
    const { clock } = this.#deps;
    this.#until = Math.max(this.#until, since + TERM_MS);
    this.#lapse?.cancel();
    if (this.areShared && names.length > 0)
      this.#lapse = clock.after(this.#until - clock.monotonic(), () => this.#keep(0, []));
    for (const name of ROLES) {
      if (names.includes(name)) this.#gain(name);
      else this.#lose(name);
    }
  }

  #gain(name: RoleName): void {
    if (this.#held.has(name)) return;
    this.#held.add(name);
    for (const watch of this.#watches.get(name) ?? []) watch.gained?.();
  }

  #lose(name: RoleName): void {
    if (!this.#held.delete(name)) return;
    if (!this.#hasResigned) this.#deps.logger.info({ role: name }, 'This server has lost a role.');
    for (const watch of this.#watches.get(name) ?? []) watch.lost?.();
  }
}

const markOf = ({ holder = '', beats }: RoleRecord) => `${holder} ${beats}`;
