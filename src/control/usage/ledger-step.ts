// One step of the ledger: from a row, the present time and what was measured since to the change of the row. Pure.
//
// - Allocated time is the time between the stamps of the sandbox, so it is exact, whatever was down meanwhile.
// - A counter that has another name, or that fell, is a new one: its value is the step, which is never negative.
// - A step is split over the hours in which it happened by time, also over an absence of this server.
import type { Reading } from '../../providers/reading.ts';
import {
  noAmounts,
  type UsageAmounts,
  type UsageChange,
  type UsageCounter,
  type UsageRecord,
} from '../../store/seam/usage.ts';
import { spread } from './spread.ts';

/** What was measured of a sandbox since the last step. */
export interface Measured {
  /** The newest reading of the host's counters, and its time in ms since 1970. */
  reading?: { of: Reading; at: number };
  /** MiB × ms in use, by hour. */
  used: ReadonlyMap<number, number>;
  peak_memory_bytes: number;
  /** Commands that ended, by hour. */
  execs: ReadonlyMap<number, { execs: number; exec_ms: number }>;
  /** `reading` is the last before the end. */
  isFinal: boolean;
}

/** Whether an ended row may be settled although its last reading is not known here. Another server may have it. */
const GRACE_MS = 5000;

/** Undefined if the row stays as it is. */
export function ledgerStep(record: UsageRecord, measured: Measured, now: number): UsageChange | undefined {
  const ended = record.ended_at === undefined ? undefined : Date.parse(record.ended_at);
  if (ended !== undefined && !measured.isFinal && now - ended < GRACE_MS) return undefined;
  const hours = new Hours();
  const from = Date.parse(record.metered_to);
  const to = Math.max(from, Math.min(now, ended ?? now));
  hours.add('sandbox_ms', spread(from, to, to - from));
  hours.add('vcpu_ms', spread(from, to, (to - from) * record.vcpus));
  hours.add('memory_mb_ms', spread(from, to, (to - from) * record.memory_mb));
  hours.add('used_mb_ms', measured.used);
  for (const [hour, { execs, exec_ms }] of measured.execs) {
    hours.add('execs', new Map([[hour, execs]]));
    hours.add('exec_ms', new Map([[hour, exec_ms]]));
  }
  const counted = countStep(record, measured.reading, hours);
  return {
    sandbox_id: record.sandbox_id,
    version: record.version,
    started_at: record.started_at,
    metered_to: new Date(to).toISOString(),
    settled: ended !== undefined,
    estimated: record.estimated || (ended !== undefined && !measured.isFinal && counted.last !== undefined),
    peak_memory_bytes: Math.max(record.peak_memory_bytes, measured.peak_memory_bytes),
    ...counted,
    hours: hours.list(),
  };
}

function countStep(
  { last, started_at, claimed, oom_kills }: UsageRecord,
  reading: Measured['reading'],
  hours: Hours,
): { oom_kills: number; last?: UsageCounter } {
  // A guest can forge what it says.
  if (!reading || reading.of.source === 'guest') return { oom_kills, ...(last && { last }) };
  const { of } = reading;
  const at = Math.max(reading.at, Date.parse(last?.at ?? started_at));
  const isSame = last?.counter === of.counter;
  const next: UsageCounter = {
    counter: of.counter,
    at: new Date(at).toISOString(),
    cpu_us: of.cpu_us ?? (isSame ? last.cpu_us : 0),
    rx_bytes: of.rx_bytes ?? (isSame ? last.rx_bytes : 0),
    tx_bytes: of.tx_bytes ?? (isSame ? last.tx_bytes : 0),
    oom_kills: of.oom_kills ?? (isSame ? last.oom_kills : 0),
  };
  // What a prewarmed sandbox used before it was claimed is not its owner's.
  if (!last && claimed) return { oom_kills, last: next };
  const stepOf = (name: 'cpu_us' | 'rx_bytes' | 'tx_bytes' | 'oom_kills') => {
    const before = isSame ? last[name] : 0;
    return next[name] >= before ? next[name] - before : next[name];
  };
  const from = Date.parse(last?.at ?? started_at);
  for (const name of ['cpu_us', 'rx_bytes', 'tx_bytes'] as const)
    hours.add(name, spread(from, at, stepOf(name)));
  return { oom_kills: oom_kills + stepOf('oom_kills'), last: next };
}

class Hours {
  readonly #hours = new Map<number, UsageAmounts>();

  add(name: keyof UsageAmounts, parts: ReadonlyMap<number, number>): void {
    for (const [hour, amount] of parts) {
      const known = this.#hours.get(hour) ?? noAmounts();
      known[name] += amount;
      this.#hours.set(hour, known);
    }
  }

  list(): UsageChange['hours'] {
    return [...this.#hours].map(([hour, amounts]) => ({ hour, amounts }));
  }
}
