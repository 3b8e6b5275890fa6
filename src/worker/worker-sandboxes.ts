// The sandboxes of this worker, in memory and in its journal. Their deadlines run by monotonic time: a wall clock that is
// set must neither end a sandbox nor let one live on. Changes come one at a time for each sandbox (`lock`).
import { KeyedLock } from '../domain/keyed-lock.ts';
import type { Clock } from '../domain/ports.ts';
import type { Lease } from '../schema/lease.ts';
import type { WorkerJournal, WorkerSandboxRecord } from '../store/seam/worker-journal.ts';

export interface WorkerSandbox {
  record: WorkerSandboxRecord;
  /** Monotonic ms: from then on nobody may run it. */
  leaseEnds: number;
  /** Monotonic ms: its own life is over. */
  lifeEnds: number;
  /** Monotonic ms of the last renewal, or of the spawn. */
  renewedAt: number;
  /** Gives up the start that is under way. */
  abort?: AbortController;
}

export interface LeaseTimes {
  /** Monotonic ms. */
  askedAt: number;
  /** What is left of the sandbox's own life, when that is told. */
  lifeMs?: number | undefined;
}

export interface WorkerSandboxesDeps {
  journal: Pick<WorkerJournal, 'all' | 'put' | 'forget'>;
  clock: Clock;
  /** How long a lease holds when it is new. */
  termMs: number;
}

/** Journalled sandboxes that ended are remembered this long, and with them the generations that may no longer come. */
const REMEMBERED_MS = 24 * 3_600_000;

export class WorkerSandboxes {
  readonly lock = new KeyedLock();
  readonly termMs: number;
  /** Of one sandbox one after the other, each over what the one before it left: a lease is renewed without its lock. */
  readonly #writing = new KeyedLock();
  readonly #all = new Map<string, WorkerSandbox>();
  readonly #journal: WorkerSandboxesDeps['journal'];
  readonly #clock: Clock;

  constructor({ journal, clock, termMs }: WorkerSandboxesDeps) {
    this.#journal = journal;
    this.#clock = clock;
    this.termMs = termMs;
  }

  /** Reads the journal. What is left of deadlines is what the wall clock says, and never more than they were when noted. */
  async load(): Promise<void> {
    const [now, elapsed] = [this.#clock.now(), this.#clock.monotonic()];
    for (const record of await this.#journal.all()) {
      const left = (at: string, most: number) => elapsed + Math.min(Date.parse(at) - now, most);
      this.#all.set(record.sandbox_id, {
        record,
        leaseEnds: left(record.lease_ends_at, this.termMs),
        lifeEnds: left(
          record.sandbox_ends_at,
          Date.parse(record.sandbox_ends_at) - Date.parse(record.noted_at),
        ),
        // Long ago, so that it is renewed at once.
        renewedAt: elapsed - this.termMs,
      });
    }
  }

  find(id: string): WorkerSandbox | undefined {
    return this.#all.get(id);
  }

  /** Those that hold, or may hold, a runtime. */
  living(): WorkerSandbox[] {
    return [...this.#all.values()].filter(({ record }) => record.state !== 'ended');
  }

  /** Writes what is new of a sandbox; in memory it holds once it is on disk. */
  note(id: string, change: Partial<WorkerSandboxRecord>): Promise<WorkerSandbox> {
    return this.#writing.run(id, () => this.#write(id, change));
  }

  async #write(id: string, change: Partial<WorkerSandboxRecord>): Promise<WorkerSandbox> {
    const known = this.#all.get(id);
    const noted_at = new Date(this.#clock.now()).toISOString();
    const record = { ...(known?.record ?? blank(id, noted_at)), ...change, noted_at };
    await this.#journal.put(record);
    const elapsed = this.#clock.monotonic();
    const held = this.#all.get(id) ?? { record, leaseEnds: elapsed, lifeEnds: elapsed, renewedAt: elapsed };
    // Not all of `record`: what was assumed while it was written holds.
    held.record = { ...held.record, ...change, noted_at };
    this.#all.set(id, held);
    return held;
  }

  /** What holds although it could not be written: the end of a sandbox waits for no disk. */
  assume(id: string, change: Partial<WorkerSandboxRecord>): void {
    const held = this.#all.get(id);
    if (held) held.record = { ...held.record, ...change };
  }

  /** The generation of a lease was seen, whatever becomes of it: older ones are refused from here on. */
  async seen(id: string, { generation }: Lease): Promise<void> {
    if (generation > (this.find(id)?.record.generation ?? 0)) await this.note(id, { generation });
  }

  /** A start under `lease`: what is known of it, and how long it may last. */
  async begin(
    id: string,
    start: Partial<WorkerSandboxRecord>,
    lease: Lease,
    terms: LeaseTimes,
  ): Promise<WorkerSandbox> {
    const held = await this.note(id, { ...start, ...this.#written(lease, terms) });
    this.#hold(held, lease, terms);
    return held;
  }

  /**
   * A lease as it came, for what was asked at `askedAt`: it holds until its end, and no longer than a new one does. It holds at
   * once, also when it rejects since it cannot be written.
   */
  async adopt(id: string, lease: Lease, terms: LeaseTimes): Promise<WorkerSandbox> {
    const change = this.#written(lease, terms);
    const held = this.#all.get(id);
    if (held) {
      // Answers may overtake each other.
      if (lease.generation < held.record.generation) return held;
      this.assume(id, change);
      this.#hold(held, lease, terms);
    }
    return this.note(id, change);
  }

  #written({ generation, expires_at }: Lease, { lifeMs }: LeaseTimes): Partial<WorkerSandboxRecord> {
    const life = lifeMs !== undefined && {
      sandbox_ends_at: new Date(this.#clock.now() + lifeMs).toISOString(),
    };
    return { generation, lease_ends_at: expires_at, ...life };
  }

  #hold(held: WorkerSandbox, { expires_at }: Lease, { askedAt, lifeMs }: LeaseTimes): void {
    held.leaseEnds = askedAt + Math.min(Date.parse(expires_at) - this.#clock.now(), this.termMs);
    held.renewedAt = askedAt;
    if (lifeMs !== undefined) held.lifeEnds = askedAt + lifeMs;
  }

  /** Forgets those that ended long ago. */
  async forget(): Promise<void> {
    const before = new Date(this.#clock.now() - REMEMBERED_MS).toISOString();
    await this.#journal.forget(before);
    for (const [id, { record }] of this.#all)
      if (record.state === 'ended' && record.noted_at < before) this.#all.delete(id);
  }
}

function blank(sandbox_id: string, at: string): WorkerSandboxRecord {
  const times = { lease_ends_at: at, sandbox_ends_at: at, noted_at: at };
  return { sandbox_id, provider: '', epoch: 0, generation: 0, state: 'ended', ...times };
}
