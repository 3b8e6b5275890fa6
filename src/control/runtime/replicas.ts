// Which other control planes on this store live. One is dead when its beats stood still for 10 s of this process's own time
// in which its own beats succeeded.
import type { Clock, Logger } from '../../domain/ports.ts';
import type { ReplicasView } from '../../schema/diagnostics.ts';
import type { ReplicaFacts, ReplicaRecord, ReplicaStore, RoleName } from '../../store/seam/replicas.ts';
import type { SignalStore } from '../../store/seam/signals.ts';
import { Periodic } from '../async/periodic.ts';
import type { Roles } from './roles.ts';
import { Sights } from './sights.ts';

const EVERY_MS = 1000;
const DEAD_AFTER_MS = 10_000;
/** A process that is silent for so long is removed from the store. */
const REMOVED_AFTER_MS = 60_000;
/** No row names it any more. */
const FORGOTTEN_AFTER_MS = 3_600_000;

export interface ReplicasDeps {
  replicas: ReplicaStore;
  signals: SignalStore;
  roles: Roles;
  /** What this process says about itself. */
  self(): ReplicaFacts;
  /** The id of this process. */
  id: string;
  clock: Clock;
  logger: Logger;
}

export class Replicas {
  readonly #deps: ReplicasDeps;
  readonly #sights = new Sights();
  readonly #beats: Periodic;
  #unlisten: (() => void) | undefined;
  #others: readonly ReplicaRecord[] = [];
  #holders: Partial<Record<RoleName, string>> = {};
  #url: string | undefined;
  /** Those that the log has named. */
  readonly #named = new Set<string>();

  constructor(deps: ReplicasDeps) {
    this.#deps = deps;
    this.#beats = new Periodic(deps.clock, EVERY_MS, () => this.#beat());
  }

  /** Resolves after the first beat; free roles are taken by then. Never rejects. */
  async start(): Promise<void> {
    this.#unlisten = this.#deps.signals.on(
      'roles',
      (before) => before !== undefined && this.#beats.startSoon(),
    );
    if (this.areSeveral) await this.#beats.start();
    else await this.#beat();
  }

  async stop(): Promise<void> {
    const { replicas, id, logger } = this.#deps;
    this.#unlisten?.();
    await this.#beats.stop();
    await replicas
      .remove(id)
      .catch((err: unknown) => logger.debug({ err }, 'Could not sign off; other servers notice in 10 s.'));
  }

  /** Whether other processes share the store. */
  get areSeveral(): boolean {
    return this.#deps.replicas.isShared;
  }

  /** The other processes that live, as the last beat found them. */
  get others(): readonly ReplicaRecord[] {
    return this.#others.filter(({ id }) => this.isAlive(id));
  }

  /** Where operators reach this process, now that it listens. Others read it with the next beat. */
  reachedAt(url: string): void {
    this.#url = url;
  }

  /** This process and the others that live, as the last beat found them; undefined where nobody shares the store. */
  view(): ReplicasView | undefined {
    if (!this.areSeveral) return undefined;
    const self = this.#self();
    const live = [self, ...this.others].map(({ id, url, version, started_at, config_print }) => ({
      id,
      url,
      version,
      started_at,
      same_configuration: config_print === self.config_print,
    }));
    return { id: self.id, roles: { ...this.#holders }, live };
  }

  /** Whether another process than this one may be at work under the id. One that was never seen counts as silent from now on. */
  isAlive(id: string | undefined): boolean {
    if (!this.areSeveral || id === undefined || id === this.#deps.id) return false;
    return this.#sights.silentMs(id) < DEAD_AFTER_MS;
  }

  #self(): ReplicaFacts {
    const facts = this.#deps.self();
    return { ...facts, url: this.#url ?? facts.url };
  }

  async #beat(): Promise<void> {
    const { replicas, roles, clock, logger } = this.#deps;
    const since = clock.monotonic();
    try {
      const signs = await replicas.beat(this.#self());
      this.#learn(signs.replicas);
      this.#holders = Object.fromEntries(
        signs.roles.flatMap(({ name, holder }) => (holder === undefined ? [] : [[name, holder]])),
      );
      await roles.beaten(since, signs.roles);
    } catch (err) {
      logger.debug({ err }, 'Could not write a beat; retrying.');
      this.#sights.failed(clock.monotonic());
      roles.failed();
    }
  }

  #learn(all: readonly ReplicaRecord[]): void {
    const { clock, id: own, replicas } = this.#deps;
    const before = new Map(this.#others.map(({ id, beats }) => [id, beats]));
    this.#others = all.filter(({ id }) => id !== own);
    for (const other of this.#others)
      if (other.beats > (before.get(other.id) ?? Infinity)) this.#report(other);
    this.#sights.read(clock.monotonic(), new Map(this.#others.map(({ id, beats }) => [id, beats])));
    const removed = new Set(this.#sights.silentFor(REMOVED_AFTER_MS));
    for (const { id } of this.#others) if (removed.has(id)) void replicas.remove(id).catch(() => undefined);
    for (const id of this.#sights.silentFor(FORGOTTEN_AFTER_MS)) {
      this.#sights.forget(id);
      this.#named.delete(id);
    }
  }

  /** Once for each. */
  #report({ id, url }: ReplicaRecord): void {
    if (this.#named.has(id)) return;
    this.#named.add(id);
    this.#deps.logger.info({ replica: id, url }, 'Another server uses the same database.');
  }
}
