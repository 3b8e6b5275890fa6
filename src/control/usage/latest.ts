// What is known of the use of each sandbox: its newest reading, rates, and what the ledger lacks.
import type { Reading } from '../../providers/reading.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Measured } from './ledger-step.ts';
import { hourOf } from './spread.ts';

/** What is needed of a row. */
export type Subject = Pick<
  SandboxRecord,
  | 'id'
  | 'epoch'
  | 'state'
  | 'provider'
  | 'worker_id'
  | 'runtime_id'
  | 'vm_id'
  | 'uid'
  | 'owner_id'
  | 'template'
  | 'memory_mb'
  | 'vcpus'
  | 'created_at'
  | 'expires_at'
>;

export interface Rates {
  cpu_percent?: number;
  rx_bytes_per_second?: number;
  tx_bytes_per_second?: number;
}

/** What two readings differ by. */
export interface Growth {
  cpu_us: number;
  rx_bytes: number;
  tx_bytes: number;
  oom_kills: number;
}

const MEBIBYTE = 1024 * 1024;
/** Memory counts for so many intervals after a reading: too little rather than too much. */
const MEMORY_INTERVALS = 3;

export class Latest {
  subject: Subject;
  reading: Reading | undefined;
  rates: Rates = {};
  /** When it was read, in ms since 1970 and in monotonic ms. */
  at = 0;
  #monotonic = Number.NEGATIVE_INFINITY;
  #used = new Map<number, number>();
  #execs = new Map<number, { execs: number; exec_ms: number }>();
  #peak = 0;
  isFinal = false;
  /** The last reading that the ledger has taken was read then. */
  #takenAt = 0;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  /** Ms since the last reading. */
  age(monotonic: number): number {
    return monotonic - this.#monotonic;
  }

  /** Returns by how much counters grew; undefined for the first reading of these counters. */
  take(reading: Reading, { now, monotonic, intervalMs }: Moment): Growth | undefined {
    const before = this.reading;
    const ms = monotonic - this.#monotonic;
    if (before?.memory_bytes !== undefined && Number.isFinite(ms))
      this.#use(now, before.memory_bytes, Math.min(ms, MEMORY_INTERVALS * intervalMs));
    this.#peak = Math.max(this.#peak, reading.peak_memory_bytes ?? 0, reading.memory_bytes ?? 0);
    const growth = before?.counter === reading.counter ? growthOf(before, reading) : undefined;
    if (growth && ms > 0) this.rates = ratesOf(reading, growth, ms);
    this.reading = reading;
    this.at = now;
    this.#monotonic = monotonic;
    return growth;
  }

  execEnded(now: number, ms: number): void {
    const hour = hourOf(now);
    const { execs, exec_ms } = this.#execs.get(hour) ?? { execs: 0, exec_ms: 0 };
    this.#execs.set(hour, { execs: execs + 1, exec_ms: exec_ms + Math.round(ms) });
  }

  /** A copy of what the ledger lacks. `taken` of the same object says that it has it now. */
  measured(): Measured {
    const { reading: of, at, isFinal } = this;
    return {
      ...(of && at > this.#takenAt && { reading: { of, at } }),
      used: new Map(this.#used),
      execs: new Map(this.#execs),
      peak_memory_bytes: this.#peak,
      isFinal,
    };
  }

  /** Whether the ledger lacks commands, or the last reading. */
  get isDue(): boolean {
    return this.isFinal || this.#execs.size > 0;
  }

  taken(measured: Measured): void {
    this.#takenAt = measured.reading?.at ?? this.#takenAt;
    this.#used = less(this.#used, measured.used);
    this.#execs = new Map(
      [...this.#execs].flatMap(([hour, { execs, exec_ms }]) => {
        const gone = measured.execs.get(hour) ?? { execs: 0, exec_ms: 0 };
        const left = { execs: execs - gone.execs, exec_ms: exec_ms - gone.exec_ms };
        return left.execs > 0 ? [[hour, left] as const] : [];
      }),
    );
  }

  /** Another process counts the memory in use: all servers measure all sandboxes, and one of them may add it up. */
  dropUsed(): void {
    this.#used.clear();
  }

  #use(now: number, bytes: number, ms: number): void {
    const hour = hourOf(now);
    this.#used.set(hour, (this.#used.get(hour) ?? 0) + Math.round((bytes / MEBIBYTE) * ms));
  }
}

export interface Moment {
  now: number;
  monotonic: number;
  intervalMs: number;
}

function less(all: ReadonlyMap<number, number>, gone: ReadonlyMap<number, number>): Map<number, number> {
  const left = [...all].map(([hour, amount]) => [hour, amount - (gone.get(hour) ?? 0)] as const);
  return new Map(left.filter(([, amount]) => amount > 0));
}

function growthOf(before: Reading, now: Reading): Growth {
  const by = (name: 'cpu_us' | 'rx_bytes' | 'tx_bytes' | 'oom_kills') =>
    Math.max(0, (now[name] ?? 0) - (before[name] ?? 0));
  return {
    cpu_us: by('cpu_us'),
    rx_bytes: by('rx_bytes'),
    tx_bytes: by('tx_bytes'),
    oom_kills: by('oom_kills'),
  };
}

function ratesOf({ cpu_us, rx_bytes, tx_bytes }: Reading, growth: Growth, ms: number): Rates {
  const each = (bytes: number) => Math.round((bytes * 1000) / ms);
  return {
    ...(cpu_us !== undefined && { cpu_percent: Math.round(growth.cpu_us / ms) / 10 }),
    ...(rx_bytes !== undefined && { rx_bytes_per_second: each(growth.rx_bytes) }),
    ...(tx_bytes !== undefined && { tx_bytes_per_second: each(growth.tx_bytes) }),
  };
}
