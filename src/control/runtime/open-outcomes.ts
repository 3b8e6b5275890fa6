// Settles what calls of this process left open when the shared store did not answer. Such a write may become visible much later:
// the database holds commits while its standby is away. So this process looks regularly for rows that name it although it does
// not work on them, and for sandboxes whose caller got a failure and cannot ask again. It ends both. Each end is a write
// of its own behind the read that saw the row, so what is settled is as durable as an answer.
import { systemEnd } from '../../domain/actor.ts';
import { asServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import { Periodic } from '../async/periodic.ts';
import type { Destroyer } from './destroy.ts';
import type { InFlightSpawns } from './in-flight-spawns.ts';
import type { Replicas } from './replicas.ts';
import type { Rollback } from './rollback.ts';

const EVERY_MS = 5000;
const MOST = 10_000;
/** A sandbox without a row is forgotten after this time: its write did not happen. */
const KEPT_MS = 3_600_000;

export interface OpenOutcomesDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'inStates'>;
  spawns: Pick<InFlightSpawns, 'has'>;
  replicas: Pick<Replicas, 'areSeveral'>;
  /** The id of this process in rows that it starts and ends. */
  replica: string;
  destroyer: Pick<Destroyer, 'mark' | 'finishLater' | 'takeOver'>;
  rollback: Rollback;
  clock: Clock;
  logger: Logger;
}

export class OpenOutcomes {
  readonly #deps: OpenOutcomesDeps;
  readonly #looks: Periodic;
  /** Sandboxes that nobody was given, by the monotonic time of the failure. */
  readonly #unwanted = new Map<string, number>();
  /** Rows that named this process at the last look although it did not work on them. An answer may still have been missing. */
  #idle: ReadonlySet<string> = new Set();

  constructor(deps: OpenOutcomesDeps) {
    this.#deps = deps;
    this.#looks = new Periodic(deps.clock, EVERY_MS, () => this.#look());
  }

  start(): void {
    if (this.#deps.replicas.areSeveral) this.#looks.startLater();
  }

  /** Other processes finish the ends that this one has marked. */
  async stop(): Promise<void> {
    await this.#looks.stop();
    await this.#endUnwanted().catch(() => undefined);
  }

  /** A spawn without a key failed. If the store may have written its sandbox nevertheless, that one is ended. */
  failed(id: string, error: unknown): void {
    if (this.#deps.replicas.areSeveral && asServiceError(error).code === 'unavailable') this.unwanted(id);
  }

  /** The caller of the spawn of this sandbox got a failure and cannot ask again: it is ended once it runs. */
  unwanted(id: string): void {
    if (this.#unwanted.size < MOST) this.#unwanted.set(id, this.#deps.clock.monotonic());
  }

  async #look(): Promise<void> {
    try {
      await this.#endUnwanted();
      await this.#finishOwn();
    } catch (err) {
      this.#deps.logger.debug({ err }, 'Could not settle calls that the database did not answer; retrying.');
    }
  }

  async #endUnwanted(): Promise<void> {
    for (const [id, since] of this.#unwanted) await this.#end(id, since);
  }

  async #end(id: string, since: number): Promise<void> {
    const { sandboxes, destroyer, clock } = this.#deps;
    const row = await sandboxes.get(id);
    // One that is being created is looked at with the rows of this process, until it runs.
    if (row?.state === 'running' || row?.state === 'unhealthy') {
      const marked = await destroyer.mark(id, 'spawn_failed', systemEnd('spawn_failed'));
      if (marked) destroyer.finishLater(marked);
    } else if (row ? hasEnded(row.state) : clock.monotonic() - since > KEPT_MS) this.#unwanted.delete(id);
  }

  async #finishOwn(): Promise<void> {
    const { sandboxes, spawns, replica, destroyer, rollback } = this.#deps;
    const rows = await sandboxes.inStates(['creating', 'destroying'], MOST);
    const isIdle = (row: SandboxRecord) => row.state === 'destroying' || !spawns.has(row.id);
    const idle = rows.filter((row) => row.replica_id === replica && isIdle(row));
    const before = this.#idle;
    this.#idle = new Set(idle.map(({ id }) => id));
    for (const row of idle.filter(({ id }) => before.has(id))) {
      if (row.state === 'destroying') destroyer.takeOver(row);
      else if (!spawns.has(row.id)) await rollback(row);
    }
  }
}
