// Ends a sandbox, from every state and any number of times: mark the row (compare-and-swap) → end the runtime → store
// the last event and `destroyed`. If the end cannot be confirmed, the row stays `destroying` and the end is retried.

import type { Sessions } from '../../agent/sessions.ts';
import { type SystemEnd, systemEnd } from '../../domain/actor.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { EndReason } from '../../schema/sandbox.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import { EventLoopYield } from '../async/event-loop-yield.ts';
import { KeyedQueue } from '../async/keyed-queue.ts';
import type { Publisher } from '../records/publish.ts';
import type { InFlightSpawns } from './in-flight-spawns.ts';
import type { Replicas } from './replicas.ts';
import type { Runtime, Runtimes } from './runtimes.ts';

/** Concurrent ends by lane, so that a worker that hangs delays no other. Lost runtimes only wait for commits. */
const BACKGROUND_AT_ONCE = { here: 16, elsewhere: 8, lost: 64 };
const LOST = 'lost';
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
const MARK_ATTEMPTS = 5;
/** An expired sandbox that is found this much later may have ended without this server. */
const LATE_MS = 500;
/** A worker that does not answer within this time delays no end. */
const INSPECT_MS = 1000;

export interface DestroyDeps {
  sandboxes: SandboxStore;
  runtimes: Pick<Runtimes, 'destroy' | 'inspect'>;
  publisher: Publisher;
  sessions: Sessions<Runtime>;
  spawns: InFlightSpawns;
  /** Reads what a sandbox used at last; never throws, and takes a second at most. */
  usage: { last(row: SandboxRecord): Promise<void> };
  /** The id of this process in rows that it ends. */
  replica: string;
  replicas: Pick<Replicas, 'isAlive'>;
  clock: Clock;
  logger: Logger;
}

/** The marked row. */
type Marking = Promise<SandboxRecord | undefined>;

export class Destroyer {
  readonly #deps: DestroyDeps;
  readonly #background = new KeyedQueue((lane) => BACKGROUND_AT_ONCE[sizeOf(lane)]);
  readonly #works = new Map<string, Promise<void>>();
  readonly #retries = new Map<string, { attempts: number; timer?: Timer }>();
  readonly #eventLoop: EventLoopYield;
  #stopped = false;

  constructor(deps: DestroyDeps) {
    this.#deps = deps;
    this.#eventLoop = new EventLoopYield(deps.clock);
  }

  /**
   * Resolves when the sandbox has ended: true when there was something to end. Throws while the end cannot be
   * confirmed; retries are scheduled by then. With `expired` and `pruned`, a sandbox whose deadline has been moved is
   * left alone. `by` is the actor that the row and its events name.
   */
  async destroy(id: string, reason: EndReason, by: string): Promise<boolean> {
    const row = await this.mark(id, reason, by);
    if (!row) return false;
    await this.finish(row);
    return true;
  }

  /**
   * Only marks the row as `destroying`, so that nobody can use it; undefined when there is nothing to end. With
   * `lease_generation` a sandbox whose lease has been renewed is left alone.
   */
  mark(id: string, reason: SystemEnd, by?: undefined, lease_generation?: number): Marking;
  mark(id: string, reason: EndReason, by: string): Marking;
  async mark(
    id: string,
    reason: EndReason,
    by: string = systemEnd(reason as SystemEnd),
    lease_generation?: number,
  ): Marking {
    const { sandboxes } = this.#deps;
    for (let attempt = 0; attempt < MARK_ATTEMPTS; attempt++) {
      const row = await sandboxes.get(id);
      if (!row || hasEnded(row.state)) return undefined;
      if (row.state === 'destroying') return row;
      const isByDeadline = reason === 'expired' || reason === 'pruned';
      if (isByDeadline && Date.parse(row.expires_at) > this.#deps.clock.now()) return undefined;
      const moved = await this.#mark(row, reason, by, lease_generation);
      if (moved || lease_generation !== undefined) return moved;
    }
    throw new ServiceError(
      'unavailable',
      'The sandbox changed state repeatedly and could not be destroyed.',
      { remedy: 'Try again.' },
    );
  }

  /** Ends a marked row. Concurrent calls share one run. */
  finish(row: SandboxRecord): Promise<void> {
    const running = this.#works.get(row.id);
    if (running) return running;
    const work = this.#finish(row).finally(() => this.#works.delete(row.id));
    this.#works.set(row.id, work);
    return work;
  }

  /** The same in the background; runs once, however often it is called. */
  finishLater(row: SandboxRecord): void {
    if (!this.#stopped) this.#background.run(laneOf(row), row.id, () => this.finish(row));
  }

  /** Finishes a marked row that nobody is ending: its replica has died, or this process did not learn that it marked it. */
  takeOver(row: SandboxRecord): void {
    const isUnderWay = this.#works.has(row.id) || this.#retries.has(row.id);
    if (!isUnderWay && !this.#deps.replicas.isAlive(row.replica_id)) this.finishLater(row);
  }

  /** Retries a `destroying` row after 1 s, 2 s, 4 s … 60 s. */
  retry(id: string): void {
    const known = this.#retries.get(id) ?? { attempts: 0 };
    if (this.#stopped || known.timer) return;
    const ms = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** known.attempts);
    const timer = this.#deps.clock.after(ms, () => void this.#again(id));
    this.#retries.set(id, { attempts: known.attempts + 1, timer });
  }

  /** Stops retries; resolves when running work has settled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#retries.values()) timer?.cancel();
    await Promise.all([this.#background.stop(), Promise.allSettled(this.#works.values())]);
  }

  /** Undefined if the row has changed: also if it expires and its deadline has been moved. */
  async #mark(
    row: SandboxRecord,
    reason: EndReason,
    by: string,
    lease_generation: number | undefined,
  ): Marking {
    const { sandboxes, publisher, clock, replica } = this.#deps;
    const { id, state, epoch, expires_at } = row;
    const end_reason = isDue(row, reason, clock.now()) ? 'expired' : reason;
    const patch = { state: 'destroying', end_reason, ended_by: by } as const;
    const events =
      end_reason === 'runtime_lost' ? [publisher.draft('sandbox.error', { ...row, ...patch }, by)] : [];
    const isByDeadline = end_reason === 'expired' || end_reason === 'pruned';
    await this.#eventLoop.pass();
    const moved = await sandboxes.transition({
      id,
      from: [state],
      epoch,
      expires_at: isByDeadline ? expires_at : undefined,
      lease_generation,
      patch,
      replica_id: replica,
      events,
    });
    if (moved) publisher.committed(moved.events);
    return moved?.sandbox;
  }

  async #finish(row: SandboxRecord): Promise<void> {
    const { spawns, sessions, runtimes, usage } = this.#deps;
    const { id } = row;
    const isHere = row.worker_id === LOCAL_WORKER;
    try {
      await spawns.cancel(id);
      const ended_at = await this.#endedAlone(row);
      if (isHere) await usage.last(row);
      await sessions.end(id, true);
      await runtimes.destroy(row, new AbortController().signal);
      // A worker keeps the last reading of what it ended.
      if (!isHere) await usage.last(row);
      await this.#record(row, ended_at);
      this.#retries.get(id)?.timer?.cancel();
      this.#retries.delete(id);
    } catch (error) {
      throw this.#failed(row, asServiceError(error));
    }
  }

  /** When its agent ended the sandbox while no server ran: at its time. Undefined for every other end. */
  async #endedAlone(row: SandboxRecord): Promise<string | undefined> {
    const { runtimes, clock } = this.#deps;
    const isLate = clock.now() - Date.parse(row.expires_at) > LATE_MS;
    if (row.end_reason !== 'expired' || !isLate) return undefined;
    const error = () => new ServiceError('timeout', 'The runtime could not be inspected in time.');
    const state = await withTimeout({ clock, ms: INSPECT_MS, error }, (signal) =>
      runtimes.inspect(row, signal),
    ).catch(() => 'running');
    return state === 'running' ? undefined : row.expires_at;
  }

  async #record(row: SandboxRecord, endedAt: string | undefined): Promise<void> {
    const { sandboxes, publisher } = this.#deps;
    const patch = { state: 'destroyed', ended_at: endedAt ?? publisher.now() } as const;
    await publisher.end(row.id);
    await this.#eventLoop.pass();
    const event = publisher.draft('sandbox.destroyed', { ...row, ...patch }, row.ended_by);
    const moving = sandboxes.transition({
      id: row.id,
      from: ['destroying'],
      epoch: row.epoch,
      patch,
      replica_id: null,
      events: [event],
    });
    publisher.ending(event);
    const moved = await moving;
    if (moved) publisher.committed(moved.events);
  }

  #failed(row: SandboxRecord, error: ServiceError): ServiceError {
    const { publisher, logger } = this.#deps;
    const first = !this.#retries.has(row.id);
    logger.warn({ sandbox_id: row.id, err: error }, 'Could not confirm that the sandbox ended; retrying.');
    if (first) publisher.failure('sandbox.destroy', row, error, row.ended_by, 'provider.failed');
    this.retry(row.id);
    if (error.status >= 500) return error;
    return new ServiceError('unavailable', 'Could not confirm that the sandbox ended; retrying.', {
      cause: error,
    });
  }

  async #again(id: string): Promise<void> {
    const attempts = this.#retries.get(id)?.attempts ?? 0;
    this.#retries.set(id, { attempts });
    try {
      const row = await this.#deps.sandboxes.get(id);
      if (row?.state === 'destroying') this.finishLater(row);
      else this.#retries.delete(id);
    } catch {
      this.retry(id);
    }
  }
}

/** A runtime that is missing after its time has not been lost: its agent ended it. */
function isDue({ expires_at }: SandboxRecord, reason: EndReason, now: number): boolean {
  return reason === 'runtime_lost' && Date.parse(expires_at) <= now;
}

/** Worker ids contain no space. */
const laneOf = ({ worker_id, end_reason }: SandboxRecord) =>
  end_reason === 'runtime_lost' ? `${worker_id} ${LOST}` : worker_id;

function sizeOf(lane: string): keyof typeof BACKGROUND_AT_ONCE {
  if (lane.endsWith(` ${LOST}`)) return 'lost';
  return lane === LOCAL_WORKER ? 'here' : 'elsewhere';
}
