// Sampler and ledger of several servers over one store: each measures all sandboxes, and what each adds is counted once.
import { describe, expect, it } from 'vitest';
import { tellDays } from '../../../../src/control/usage/days.ts';
import { Ledger } from '../../../../src/control/usage/ledger.ts';
import { Sampler } from '../../../../src/control/usage/sampler.ts';
import { UsageTotals } from '../../../../src/control/usage/totals.ts';
import type { Reading } from '../../../../src/providers/reading.ts';
import type { UsageConfig } from '../../../../src/schema/config-usage.ts';
import { noAmounts } from '../../../../src/store/seam/usage.ts';
import type { SandboxRecord } from '../../../../src/store/store.ts';
import { FAKE_START, fakeClock, silentLogger } from '../../../support/fakes/ports.ts';
import { memoryUsage } from '../../../support/memory-store/usage.ts';
import { sandboxRecord, stamp } from '../../../support/records.ts';

const MINUTE = 60_000;
const MEBIBYTE = 1024 * 1024;
const config: UsageConfig = {
  ...{ enabled: true, interval: '10s', history_mb: 1, retention_hours: '960h', retention_days: '8760h' },
  exposed_owners: [],
};

function world(settings: Partial<UsageConfig> = {}) {
  const clock = fakeClock();
  const rows: SandboxRecord[] = [];
  const usage = memoryUsage();
  let reading: () => Promise<Reading> = async () => ({
    ...{ counter: 'a', source: 'host' as const, cpu_us: clock.monotonic(), memory_bytes: 100 * MEBIBYTE },
  });
  const server = (holds: () => boolean) => {
    const sampler = new Sampler({
      sandboxes: { list: async () => rows, get: async (id) => rows.find((row) => row.id === id) },
      runtimes: {
        usage: async (asked) =>
          new Map(await Promise.all(asked.map(async ({ id }) => [id, await reading()] as const))),
      },
      publisher: { note: () => undefined },
      totals: new UsageTotals(config),
      config: { ...config, ...settings },
      clock,
      logger: silentLogger,
    });
    const roles = { holds };
    const ledger = new Ledger({
      usage: usage.store,
      sampler,
      publisher: { note: () => undefined, stored: async () => undefined },
      roles,
      config,
      clock,
      logger: silentLogger,
    });
    sampler.start();
    ledger.start();
    return { sampler, ledger };
  };
  return {
    ...{ clock, rows, usage, server },
    run: (row: SandboxRecord) => {
      rows.push(row);
      usage.changed(row, true);
    },
    end: (row: SandboxRecord) => {
      rows.splice(rows.indexOf(row), 1);
      usage.changed({ ...row, ended_at: stamp((clock.now() - FAKE_START) / 1000) }, false);
    },
    read: (how: () => Promise<Reading>) => {
      reading = how;
    },
    ended: (id: string) => ({
      type: 'exec.completed' as const,
      timestamp: stamp(),
      sandbox_id: id,
      data: { duration_ms: 5 },
    }),
  };
}

describe('several servers', () => {
  it('count memory in use once, and commands where they ran, also through a stop', async () => {
    const { clock, run, usage, server, ended } = world();
    const row = sandboxRecord({ state: 'running', owner_id: 'ann' });
    run(row);
    const [writer, other] = [server(() => true), server(() => false)];
    for (let minute = 0; minute < 5; minute++) {
      await clock.advance(MINUTE);
      // Its commands make the other server write the row, too.
      await other.sampler.noted(ended(row.id));
    }
    await clock.advance(MINUTE);
    for (const { sampler, ledger } of [other, writer]) {
      await sampler.stop();
      await ledger.stop();
    }
    const [record] = await usage.store.of([row.id]);
    expect(record?.totals.execs).toBe(5);
    expect(record?.totals.used_mb_ms).toBeGreaterThan(100 * 5 * MINUTE);
    expect(record?.totals.used_mb_ms).toBeLessThanOrEqual(100 * 6 * MINUTE);
  });

  it('forget sandboxes that ended elsewhere', async () => {
    const { clock, run, end, server } = world();
    const row = sandboxRecord({ state: 'running' });
    run(row);
    const [writer, other] = [server(() => true), server(() => false)];
    await clock.advance(MINUTE);
    expect(other.sampler.history.read(row.id, 10_000).points).not.toEqual([]);
    end(row);
    await clock.advance(2 * MINUTE);
    for (const { sampler } of [writer, other]) {
      expect(sampler.get(row.id)).toBeUndefined();
      expect(sampler.history.read(row.id, 10_000).points).toEqual([]);
    }
  });
});

describe('a provider that hangs', () => {
  it('delays no event', async () => {
    const { run, server, read, ended } = world();
    const row = sandboxRecord({ state: 'running' });
    run(row);
    const { sampler } = server(() => true);
    read(() => new Promise(() => undefined));
    await sampler.noted({ type: 'sandbox.running', timestamp: stamp(), sandbox_id: row.id });
    await sampler.noted(ended(row.id));
    expect(sampler.get(row.id)?.isDue).toBe(true);
  });
});

describe('usage.enabled: false', () => {
  it('counts commands, measures nothing, and forgets what ended', async () => {
    const { clock, run, end, usage, server, read, ended } = world({ enabled: false });
    const row = sandboxRecord({ state: 'running' });
    run(row);
    let isRead = false;
    read(async () => {
      isRead = true;
      return { counter: 'a', source: 'host' };
    });
    const { sampler } = server(() => true);
    await sampler.noted({ type: 'sandbox.running', timestamp: stamp(), sandbox_id: row.id });
    await sampler.noted(ended(row.id));
    await clock.advance(2 * MINUTE);
    expect((await usage.store.of([row.id]))[0]?.totals.execs).toBe(1);
    end(row);
    await clock.advance(2 * MINUTE);
    expect(sampler.get(row.id)).toBeUndefined();
    expect(isRead).toBe(false);
  });
});

describe('tellDays', () => {
  it('has one event for each owner of a day that became complete, once its last steps are written', async () => {
    const day = Date.UTC(2026, 10, 22);
    const hours = [0, 23, 24].map((hour) => day / 3_600_000 + hour);
    const told: [string, string | undefined, unknown][] = [];
    const deps = {
      usage: {
        rows: async ({ from, to }: { from: number; to: number }) => {
          const found = hours.filter((hour) => hour >= from && hour < to);
          const row = { hour: from, provider: '', template: '', sandboxes: 1 };
          const amounts = { ...noAmounts(), cpu_us: found.length * 1_000_000 };
          return found.length === 0 ? [] : ['ann', ''].map((owner_id) => ({ ...row, owner_id, amounts }));
        },
      },
      publisher: {
        note: (
          type: string,
          { owner_id }: { owner_id?: string | undefined },
          data: Record<string, unknown>,
        ) => void told.push([`${type} ${data.day}`, owner_id, data.cpu_seconds]),
        stored: async () => {},
      },
    };
    const midnight = day + 24 * 60 * MINUTE;
    await tellDays(deps, midnight - MINUTE, midnight + MINUTE);
    expect(told).toEqual([]);
    await tellDays(deps, midnight + MINUTE, midnight + 11 * MINUTE);
    await tellDays(deps, midnight + 11 * MINUTE, midnight + 12 * MINUTE);
    expect(told).toEqual([
      ['usage.day 2026-11-22', 'ann', 2],
      ['usage.day 2026-11-22', undefined, 2],
    ]);
    // Also after an absence of days.
    await tellDays(deps, midnight + 12 * MINUTE, midnight + 3 * 24 * 60 * MINUTE);
    expect(told.slice(2).map(([name]) => name)).toEqual(['usage.day 2026-11-23', 'usage.day 2026-11-23']);
  });
});
