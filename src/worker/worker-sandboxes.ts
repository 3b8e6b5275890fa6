// The sandboxes of this worker, in memory and in its journal. Deadlines use monotonic time: a changed wall clock
// neither ends a sandbox nor extends it. `lock` serializes the changes of each sandbox.
import { KeyedLock } from '../domain/keyed-lock.ts';
import type { Clock } from '../domain/ports.ts';
import type { ImageSpec } from '../providers/provider.ts';
import type { Reading } from '../providers/reading.ts';
import type { Lease } from '../schema/lease.ts';
import type { WorkerJournal, WorkerSandboxRecord } from '../store/seam/worker-journal.ts';

export interface WorkerSandbox {
  record: WorkerSandboxRecord;
  /** When the lease expires, in monotonic ms. Nobody may run the sandbox afterwards. */
  leaseEnds: number;
  /** When the sandbox's own lifetime ends, in monotonic ms. */
  lifeEnds: number;
  /** When its agent ends it without this worker, in monotonic ms; undefined: not known. */
  agentEnds?: number;
  /** The last renewal, or the spawn, in monotonic ms. */
  renewedAt: number;
  /** What it had used right before its end; only in memory. */
  lastReading?: Reading;
  /** Its image, and what that was when it started; only in memory. */
  startedFrom?: { spec: Pick<ImageSpec, 'image'>; id: string };
  /** Aborts the start in progress. */
  abort?: AbortController;
}

interface LeaseTimes {
  /** When the lease was requested, in monotonic ms. */
  requestedAt: number;
  /** The remaining lifetime of the sandbox, if known. */
  lifeMs?: number | undefined;
}

interface WorkerSandboxesDeps {
  journal: Pick<WorkerJournal, 'all' | 'put' | 'forget'>;
  clock: Clock;
  /** The duration of a new lease. */
  termMs: number;
}

/** Ended sandboxes stay in the journal this long, so that late calls with an old generation are refused. */
const REMEMBERED_MS = 24 * 3_600_000;

export class WorkerSandboxes {
  readonly lock = new KeyedLock();
  readonly termMs: number;
  /** Serializes journal writes of each sandbox, so that each builds on the one before. Renewals do not hold `lock`. */
  readonly #writing = new KeyedLock();
  readonly #all = new Map<string, WorkerSandbox>();
  readonly #journal: WorkerSandboxesDeps['journal'];
  readonly #clock: Clock;

  constructor({ journal, clock, termMs }: WorkerSandboxesDeps) {
    this.#journal = journal;
    this.#clock = clock;
    this.termMs = termMs;
  }

  /** Reads the journal. Remaining times follow the wall clock, but never exceed what they were when written. */
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
        // In the past, so that the lease is renewed at once.
        renewedAt: elapsed - this.termMs,
      });
    }
  }

  find(id: string): WorkerSandbox | undefined {
    return this.#all.get(id);
  }

  /** Returns the sandboxes that have, or may have, a runtime. */
  living(): WorkerSandbox[] {
    return [...this.#all.values()].filter(({ record }) => record.state !== 'ended');
  }

  /** Writes a change. Memory follows once it is on disk. */
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
    // Merges only the change: `assume` may have changed the record during the write.
    held.record = { ...held.record, ...change, noted_at };
    this.#all.set(id, held);
    return held;
  }

  /** Changes memory only, for changes that must not wait for the disk, such as an end. */
  assume(id: string, change: Partial<WorkerSandboxRecord>): void {
    const held = this.#all.get(id);
    if (held) held.record = { ...held.record, ...change };
  }

  /** Remembers a seen lease generation, so that older ones are refused from now on. */
  async seen(id: string, { generation }: Lease): Promise<void> {
    if (generation > (this.find(id)?.record.generation ?? 0)) await this.note(id, { generation });
  }

  /** Records a start under `lease`, with its deadlines. */
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
   * Applies a lease that was requested at `requestedAt`: it ends at its own end, and never later than a new lease would. It
   * takes effect even if this rejects because the journal cannot be written.
   */
  async adopt(id: string, lease: Lease, terms: LeaseTimes): Promise<WorkerSandbox> {
    const change = this.#written(lease, terms);
    const held = this.#all.get(id);
    if (held) {
      // Answers can arrive out of order.
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

  #hold(held: WorkerSandbox, { expires_at }: Lease, { requestedAt, lifeMs }: LeaseTimes): void {
    held.leaseEnds = requestedAt + Math.min(Date.parse(expires_at) - this.#clock.now(), this.termMs);
    held.renewedAt = requestedAt;
    if (lifeMs !== undefined) held.lifeEnds = requestedAt + lifeMs;
  }

  /** Forgets sandboxes that ended long ago. */
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
