// The database moved away, removed or replaced beneath a store that is open, and one that is gone before it is opened.
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { WorkerSandboxRecord } from '../../../src/store/seam/worker-journal.ts';
import { openWorkerJournal } from '../../../src/store/sqlite/worker-journal.ts';
import { openStore } from '../../support/databases.ts';
import { fakeClock, fakeIds, seededRandom } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const GONE = { code: 'unavailable', message: expect.stringContaining('removed or replaced') };
const LOST = { code: 'conflict', remedy: expect.stringContaining('backup') };

async function opened() {
  const path = join(temporaryFolder(), 'state', 'svc.db');
  const store = await openStore(path);
  onTestFinished(() => store.close());
  const row = sandboxRecord();
  await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  return { path, store, row };
}

const swapped = (path: string) => {
  copyFileSync(path, `${path}.copy`);
  renameSync(path, `${path}.first`);
  renameSync(`${path}.copy`, path);
  return () => renameSync(`${path}.first`, path);
};
const moved = (path: string) => {
  renameSync(path, `${path}.away`);
  return () => renameSync(`${path}.away`, path);
};
const emptied = (path: string) => {
  const undo = moved(path);
  writeFileSync(path, '');
  return undo;
};
const remade = (path: string) => {
  const undo = moved(dirname(path));
  mkdirSync(dirname(path));
  return () => {
    rmSync(dirname(path), { recursive: true });
    undo();
  };
};

it.each([
  ['the file', moved],
  ['the log', (path: string) => moved(`${path}-wal`)],
  ['the index of the log', (path: string) => moved(`${path}-shm`)],
  ['the folder', (path: string) => moved(dirname(path))],
  ['the folder, another in its place', remade],
  ['the file, an empty one in its place', emptied],
  ['the file, a copy in its place', swapped],
] as const)('%s is missing: only reads and ends succeed, and all calls once it is back', async (_, away) => {
  const { path, store, row } = await opened();
  const back = away(path);
  const event = eventDraft({ sandbox_id: row.id });
  const facts = { id: row.id, epoch: 1, events: [event] };
  const begin = { ...facts, from: ['creating' as const], patch: { state: 'running' as const } };
  const end = { ...facts, from: ['creating' as const], patch: { state: 'destroying' as const } };
  await expect(
    store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] }),
  ).rejects.toMatchObject(GONE);
  await expect(store.sandboxes.transition(begin)).rejects.toMatchObject(GONE);
  await expect(
    store.sandboxes.extend(row.id, ['creating'], { was: row.expires_at, expires_at: stamp() }),
  ).rejects.toMatchObject(GONE);
  await expect(store.events.append([event])).rejects.toMatchObject(GONE);
  await expect(store.ping()).rejects.toMatchObject(GONE);
  expect(await store.sandboxes.get(row.id)).toMatchObject({ state: 'creating' });
  expect(await store.sandboxes.transition(end)).toMatchObject({ sandbox: { state: 'destroying' } });
  back();
  await store.ping();
  expect(await store.sandboxes.get(row.id)).toMatchObject({ state: 'destroying' });
  expect((await store.sandboxes.countActive()).total).toBe(1);
});

it.each([
  ['missing', (path: string) => rmSync(path)],
  ['empty', (path: string) => writeFileSync(path, '')],
])('a file that is %s beside leftovers of a server is not created again', async (_, lose) => {
  const { path, store } = await opened();
  const copies = ['', '-wal', '.reserve'].map((end) => [path + end, `${path}${end}.kept`] as const);
  for (const [from, to] of copies) copyFileSync(from, to);
  await store.close();
  for (const [from, to] of copies) renameSync(to, from);
  lose(path);
  await expect(openStore(path)).rejects.toMatchObject(LOST);
  expect(existsSync(`${path}-wal`)).toBe(true);
  rmSync(`${path}-wal`);
  await expect(openStore(path)).rejects.toMatchObject(LOST);
  rmSync(`${path}.reserve`);
  await (await openStore(path)).close();
});

it("a missing worker's journal is neither written nor created again beside its log", async () => {
  const path = join(temporaryFolder(), 'worker.db');
  const deps = { path, clock: fakeClock(), ids: fakeIds(), random: seededRandom() };
  const journal = await openWorkerJournal(deps);
  onTestFinished(() => journal.close());
  const back = moved(path);
  const record = { sandbox_id: 'sb-x', state: 'ended', noted_at: stamp(0) } as WorkerSandboxRecord;
  await expect(journal.put(record)).rejects.toMatchObject(GONE);
  back();
  await journal.put(record);
  expect(await journal.all()).toEqual([record]);
  await journal.close();
  rmSync(path);
  writeFileSync(`${path}-wal`, 'log');
  await expect(openWorkerJournal(deps)).rejects.toMatchObject(LOST);
  expect(existsSync(path)).toBe(false);
});
