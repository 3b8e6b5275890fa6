// The arithmetic of the ledger: steps of counters, parts of hours, and the newest points.
import { describe, expect, it } from 'vitest';
import { History } from '../../../../src/control/usage/history.ts';
import { Latest, type Subject } from '../../../../src/control/usage/latest.ts';
import { ledgerStep, type Measured } from '../../../../src/control/usage/ledger-step.ts';
import { HOUR_MS, spread } from '../../../../src/control/usage/spread.ts';
import { usagePeriod } from '../../../../src/domain/usage-period.ts';
import type { Reading } from '../../../../src/providers/reading.ts';
import type { UsageAmounts, UsageRecord } from '../../../../src/store/seam/usage.ts';
import { addAmounts, noAmounts } from '../../../../src/store/seam/usage.ts';

const START = Date.UTC(2026, 10, 22, 10, 30);
const iso = (ms: number) => new Date(ms).toISOString();
const row = (facts: Partial<UsageRecord> = {}): UsageRecord => ({
  ...{ sandbox_id: 'sb-a', owner_id: 'ann', provider: 'userspace', template: '', vcpus: 2, memory_mb: 512 },
  ...{ started_at: iso(START), metered_to: iso(START), claimed: false, settled: false, version: 0 },
  ...{ peak_memory_bytes: 0, oom_kills: 0, estimated: false, totals: noAmounts(), ...facts },
});
const measured = (facts: Partial<Measured> = {}): Measured => ({
  ...{ used: new Map(), execs: new Map(), peak_memory_bytes: 0, isFinal: false, ...facts },
});
const read = (counter: string, cpu_us: number, more: Partial<Reading> = {}): Reading => ({
  ...{ counter, cpu_us, source: 'host' as const, ...more },
});
const sum = (hours: readonly { amounts: UsageAmounts }[]) =>
  hours.reduce((all, { amounts }) => addAmounts(all, amounts), noAmounts());
/** The row as the store has it after the change. */
const after = (record: UsageRecord, change: NonNullable<ReturnType<typeof ledgerStep>>): UsageRecord => {
  const { hours, ...values } = change;
  const totals = addAmounts({ ...record.totals }, sum(hours));
  return { ...record, ...values, version: record.version + 1, totals };
};

describe('spread', () => {
  it('splits at hours, and its parts are exactly the amount', () => {
    const parts = spread(START, START + 2 * HOUR_MS, 1001);
    expect([...parts.values()]).toEqual([250, 500, 251]);
    expect([...spread(START, START, 7).values()]).toEqual([7]);
    expect(spread(START, START + 1, 0).size).toBe(0);
  });
});

describe('a step of the ledger', () => {
  it('allocates the time between the stamps to the millisecond, and settles at the end', () => {
    const ended = row({ ended_at: iso(START + HOUR_MS + 1) });
    expect(ledgerStep(ended, measured(), START + HOUR_MS + 2)).toBeUndefined();
    const change = ledgerStep(ended, measured({ isFinal: true }), START + 9 * HOUR_MS);
    expect(change).toMatchObject({ settled: true, metered_to: iso(START + HOUR_MS + 1), estimated: false });
    expect(sum(change?.hours ?? [])).toMatchObject({
      sandbox_ms: HOUR_MS + 1,
      vcpu_ms: 2 * (HOUR_MS + 1),
      memory_mb_ms: 512 * (HOUR_MS + 1),
    });
  });

  it('takes a counter that fell or has another name as a new one', () => {
    const last = { counter: 'a', at: iso(START), cpu_us: 100, rx_bytes: 5, tx_bytes: 5, oom_kills: 1 };
    const step = (reading: Reading) => {
      const change = ledgerStep(
        row({ last }),
        measured({ reading: { of: reading, at: START + 10 } }),
        START + 10,
      );
      return { cpu: sum(change?.hours ?? []).cpu_us, oom: change?.oom_kills };
    };
    expect(step(read('a', 130, { oom_kills: 3 }))).toEqual({ cpu: 30, oom: 2 });
    expect(step(read('a', 30, { oom_kills: 1 }))).toEqual({ cpu: 30, oom: 0 });
    expect(step(read('b', 130, { oom_kills: 1 }))).toEqual({ cpu: 130, oom: 1 });
  });

  it('adds nothing that a guest says, and nothing of before a claim', () => {
    const reading = { of: read('a', 50), at: START + 10 };
    const guest = { of: read('a', 50, { source: 'guest' }), at: START + 10 };
    expect(sum(ledgerStep(row(), measured({ reading: guest }), START + 10)?.hours ?? []).cpu_us).toBe(0);
    const claimed = ledgerStep(row({ claimed: true }), measured({ reading }), START + 10);
    expect(sum(claimed?.hours ?? []).cpu_us).toBe(0);
    expect(claimed?.last).toMatchObject({ cpu_us: 50 });
  });

  it('never subtracts, and loses nothing of a counter, in random histories of restarts and clocks', () => {
    let seed = 7;
    const below = (most: number) => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return (seed >>> 8) % most;
    };
    for (let history = 0; history < 10_000; history++) {
      let [record, now, cpu, counter, burnt] = [row({ vcpus: 1 }), START, 0, 0, 0];
      for (let step = 0; step < 6; step++) {
        now += below(10) === 0 ? -below(3 * HOUR_MS) : below(2 * HOUR_MS);
        const isReset = below(4) === 0;
        if (isReset) [cpu, counter] = [0, counter + 1];
        const grown = below(1_000_000);
        cpu += grown;
        burnt += grown;
        const reading = { of: read(`c${counter}`, cpu), at: now };
        const change = ledgerStep(record, measured({ reading }), now);
        for (const { amounts } of change?.hours ?? [])
          expect(Math.min(...Object.values(amounts))).toBeGreaterThanOrEqual(0);
        if (change) record = after(record, change);
      }
      expect(record.totals.cpu_us).toBe(burnt);
    }
  });
});

describe('the newest readings', () => {
  const subject = {
    id: 'sb-a',
    state: 'running',
    provider: 'userspace',
    memory_mb: 512,
    vcpus: 1,
  } as Subject;
  const moment = (ms: number) => ({ now: START + ms, monotonic: ms, intervalMs: 10_000 });

  it('have rates, and count memory for three intervals at most', () => {
    const one = new Latest(subject);
    const memory_bytes = 100 * 1024 * 1024;
    expect(one.take(read('a', 0, { memory_bytes }), moment(0))).toBeUndefined();
    expect(one.take(read('a', 5_000_000, { memory_bytes }), moment(10_000))).toMatchObject({
      cpu_us: 5_000_000,
    });
    expect(one.rates.cpu_percent).toBe(50);
    one.take(read('a', 5_000_000, { memory_bytes }), moment(1_000_000));
    expect([...one.measured().used.values()].reduce((all, each) => all + each)).toBe(100 * 40_000);
  });

  it('keep what came after the ledger read them', () => {
    const one = new Latest(subject);
    one.execEnded(START, 5);
    const taken = one.measured();
    one.execEnded(START, 6);
    one.taken(taken);
    expect([...one.measured().execs.values()]).toEqual([{ execs: 1, exec_ms: 6 }]);
  });
});

describe('history', () => {
  it('has gaps, forgets what is old, and gives way to what is looked at', () => {
    const each = (60 + 360) * 5 * 4;
    const history = new History(10_000, each * 2);
    for (const at of [0, 10_000, 30_000, 700_000]) history.add('a', { at: START + at, cpu_percent: at });
    expect(history.read('a', 10_000).points).toEqual([{ at: START + 700_000, cpu_percent: 700_000 }]);
    expect(history.read('a', 60_000).points.map(({ at }) => at - START)).toEqual([0, 660_000]);
    for (const id of ['b', 'c']) history.add(id, { at: START, cpu_percent: 1 });
    expect(history.read('b', 10_000).points).toHaveLength(1);
    expect(history.read('c', 10_000).points).toEqual([]);
    history.add('c', { at: START, cpu_percent: 1 });
    expect(history.read('c', 10_000).points).toHaveLength(1);
    expect(history.read('a', 10_000).points).toEqual([]);
  });
});

describe('a period', () => {
  const now = START;
  const hours = (query: { from?: string; to?: string }) => {
    const { from, to } = usagePeriod(query, now);
    return [iso(from), iso(to)];
  };
  it('is a month, a day, a time, or hours back', () => {
    expect(hours({})).toEqual(['2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z']);
    expect(hours({ from: '2026-02' })).toEqual(['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z']);
    expect(hours({ from: '2026-02-03', to: '2026-02-04' })).toEqual([
      '2026-02-03T00:00:00.000Z',
      '2026-02-05T00:00:00.000Z',
    ]);
    expect(hours({ from: '2h' })).toEqual(['2026-11-22T08:00:00.000Z', '2026-11-22T11:00:00.000Z']);
    expect(hours({ from: '2026-11-22T08:15:00Z', to: '2026-11-22T09:15:00Z' })).toEqual([
      '2026-11-22T08:00:00.000Z',
      '2026-11-22T10:00:00.000Z',
    ]);
  });
  it.each([
    { from: '2026-02-31' },
    { from: 'x' },
    { from: '2026-13' },
    { from: '2026-11', to: '2026-10' },
    { from: '0h' },
  ])('rejects %o', (query) => {
    expect(() => usagePeriod(query, now)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });
});
