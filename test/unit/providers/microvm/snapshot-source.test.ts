// When a snapshot is made, waited for, doubted and taken away; saving is scripted, the files are real.
import { existsSync, mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { ConcurrencyLimit } from '../../../../src/domain/concurrency-limit.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { Making } from '../../../../src/providers/microvm/launch.ts';
import { type Snapshot, snapshotFiles, writeSnapshot } from '../../../../src/providers/microvm/snapshot.ts';
import type { saveSnapshot } from '../../../../src/providers/microvm/snapshot-save.ts';
import { type SnapshotHold, SnapshotSource } from '../../../../src/providers/microvm/snapshot-source.ts';
import type { MicrovmState } from '../../../../src/providers/microvm/state.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { type FakeClock, fakeClock, recordingLogger } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const signal = new AbortController().signal;
const DEAD = new ServiceError('provider_error', 'No.', { cause: new Error('the monitor ended') });
const LATE = new ServiceError('timeout', 'Late.');
const FULL = new ServiceError('provider_error', 'No.', {
  cause: new Error("cannot set up guest memory 'memory': Cannot allocate memory"),
});

let clock: FakeClock;
afterEach(() => expect(clock.pending()).toBe(0));

function ground(save: typeof saveSnapshot = saved) {
  clock = fakeClock();
  const folder = temporaryFolder();
  const snapshots = join(folder, 'templates');
  mkdirSync(snapshots);
  const logger = recordingLogger();
  const state = {
    host: { ...fakeHost({}), stat: async (path: string) => (existsSync(path) ? {} : undefined) },
    clock,
    logger,
    config: { overlay_mb: 0, network: 'none' },
    folders: { snapshots, instance: join(folder, 'run') },
    images: { dataFolder: folder, configured: {} },
    boots: new ConcurrencyLimit(1, { clock, waiting: 10, waitMs: 60_000 }),
  } as unknown as MicrovmState;
  const source = new SnapshotSource(state, save);
  const hold = (id = 'sb-one', vcpus = 1, env: Record<string, string> = {}) =>
    source.hold(making(id, vcpus, env), signal);
  const warnings = () => logger.lines.map(({ message }) => message);
  return { source, state, hold, warnings, left: () => readdirSync(snapshots) };
}

function making(id: string, vcpus: number, env: Record<string, string>): Making {
  return {
    spec: { id, network: 'none' },
    image: { name: 'debian', path: '/no/image' },
    env,
    shape: { memory_mb: 128, vcpus },
    machinery: {
      kernel: { version: '6', digest: 'k' },
      initramfs: { digest: 'i' },
      monitor: { version: '7.2' },
      accelerator: { kind: 'emulation' },
    },
  } as unknown as Making;
}

const saved: typeof saveSnapshot = async (_state, { facts, folder }) => {
  mkdirSync(folder);
  const { memory, state } = snapshotFiles(folder, facts);
  for (const file of [memory, state]) writeFileSync(file, 'saved');
  return writeSnapshot(folder, { facts, secret: '11'.repeat(16), created_at: '' });
};

/** One sandbox after the other, each of which could not go on. */
async function failing(
  hold: (id: string) => Promise<SnapshotHold | undefined>,
  ids: string[],
  error: unknown,
) {
  for (const id of ids) {
    const held = await hold(id);
    await held?.failed(error);
    held?.release();
  }
}

it('is made once for simultaneous callers, and kept', async () => {
  let made = 0;
  const { hold, left } = ground((...of) => {
    made++;
    return saved(...of);
  });
  const all = await Promise.all([hold('sb-a'), hold('sb-b')]);
  expect(all.map((held) => held?.snapshot.key)).toEqual([left()[0], left()[0]]);
  expect((await hold('sb-c'))?.snapshot.key).toBe(left()[0]);
  expect(made).toBe(1);
});

it('is another one for another environment of the image, whose disk may be the same', async () => {
  const { hold, left } = ground();
  const keys = [];
  for (const env of [undefined, { A: '1' }, { A: '2' }, { A: '2' }]) {
    const held = await hold('sb-a', 1, env);
    keys.push(held?.snapshot.key);
    held?.release();
  }
  expect(new Set(keys).size).toBe(3);
  expect(keys[2]).toBe(keys[3]);
  expect(left()).toEqual([keys[3]]);
});

it('is awaited only for a limited time, and serves the next sandbox', async () => {
  let finish = () => {};
  const { hold } = ground(async (...of) => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return saved(...of);
  });
  const early = hold('sb-a');
  await until(() => clock.pending() === 2);
  await clock.advance(20_000);
  expect(await early).toBeUndefined();
  finish();
  expect(await hold('sb-b')).toBeDefined();
});

it('waits for its turn among booting guests', async () => {
  let saves = 0;
  const { hold, state } = ground((...of) => {
    saves++;
    return saved(...of);
  });
  let end = () => {};
  const booted = new Promise<void>((resolve) => {
    end = resolve;
  });
  const boot = state.boots.run(() => booted, signal);
  const held = hold();
  await until(() => clock.pending() === 2);
  expect(saves).toBe(0);
  end();
  await boot;
  expect(await held).toBeDefined();
  expect(saves).toBe(1);
});

it('is given up by close without leftovers, and none is made afterwards', async () => {
  let isCleared = false;
  const { hold, source, left, warnings } = ground(async (_state, { folder }, over) => {
    mkdirSync(folder);
    await new Promise<void>((resolve) => over.addEventListener('abort', () => resolve(), { once: true }));
    rmSync(folder, { recursive: true });
    isCleared = true;
    throw over.reason;
  });
  const held = hold();
  await until(() => left().length === 1);
  await source.close();
  expect(isCleared).toBe(true);
  expect(left()).toEqual([]);
  expect(await held).toBeUndefined();
  expect(await hold('sb-b')).toBeUndefined();
  expect(left()).toEqual([]);
  expect(warnings()).toEqual([]);
});

it.each([
  ['one sandbox cannot be restored', ['sb-a'], DEAD],
  ['the same sandbox cannot be restored twice', ['sb-a', 'sb-a'], DEAD],
])('stays when %s', async (_, ids, error) => {
  const { hold, left } = ground();
  await failing(hold, ids, error);
  expect(left()).toHaveLength(1);
  expect(await hold('sb-z')).toBeDefined();
});

it('stays when a guest was restored in between', async () => {
  const { hold, left } = ground();
  await failing(hold, ['sb-a'], DEAD);
  (await hold('sb-b'))?.succeeded();
  await failing(hold, ['sb-c'], DEAD);
  expect(left()).toHaveLength(1);
});

it('is removed when two sandboxes in a row cannot be restored', async () => {
  const { hold, left, warnings } = ground();
  await failing(hold, ['sb-a', 'sb-b'], DEAD);
  expect(left()).toEqual([]);
  expect(await hold('sb-c')).toBeUndefined();
  expect(warnings()).toEqual([
    'Snapshot restore failed; booting the VM instead.',
    'Could not create a snapshot; booting VMs instead.',
  ]);
  await clock.advance(60_000);
  expect(await hold('sb-c')).toBeDefined();
});

it.each([
  ['time', LATE],
  ['memory', FULL],
])('stays when guests lack %s, and is not used for a while', async (_, error) => {
  const { hold, left } = ground();
  await failing(hold, ['sb-a', 'sb-b'], error);
  expect(await hold('sb-c')).toBeUndefined();
  await clock.advance(60_000);
  await failing(hold, ['sb-d'], error);
  await clock.advance(60_000);
  expect(await hold('sb-e')).toBeDefined();
  expect(left()).toHaveLength(1);
});

it('is removed at the first failure when its files changed', async () => {
  const { hold, left } = ground();
  const held = await hold();
  truncateSync(held?.snapshot.state ?? '', 1);
  await held?.failed(LATE);
  expect(left()).toEqual([]);
});

it('is not blamed for failures of an earlier snapshot', async () => {
  const { hold, left } = ground();
  const [one, two] = [await hold('sb-a'), await hold('sb-b')];
  await one?.failed(DEAD);
  rmSync(one?.snapshot.folder ?? '', { recursive: true });
  await two?.failed(DEAD);
  for (const held of [one, two]) held?.release();
  const next = (await hold('sb-c')) as SnapshotHold;
  await two?.failed(DEAD);
  expect(left()).toEqual([next.snapshot.key]);
});

it('is not removed while a guest starts from it', async () => {
  const { hold, left } = ground();
  const made: Snapshot[] = [];
  const held = (await hold('sb-first', 1)) as SnapshotHold;
  const others = async (from: number, to: number) => {
    for (let vcpus = from; vcpus <= to; vcpus++) {
      await clock.advance(1000);
      const next = (await hold('sb-next', vcpus)) as SnapshotHold;
      made.push(next.snapshot);
      next.release();
    }
  };
  await others(2, 12);
  expect(left()).toContain(held.snapshot.key);
  held.release();
  await others(13, 13);
  expect(left()).not.toContain(held.snapshot.key);
  expect(left()).toHaveLength(8);
});

async function until(isSo: () => boolean): Promise<void> {
  await expect.poll(isSo, { interval: 1, timeout: 10_000 }).toBe(true);
}
