// Logs that are gone, cut or another's after an unclean stop: noticed, said until it is accepted, and never said of a log
// that is whole.
import { copyFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { backupDatabase } from '../../../src/ops/db/backup.ts';
import { acceptLoss } from '../../../src/ops/db/inspect.ts';
import { restoreDatabase } from '../../../src/ops/db/restore.ts';
import { openStore } from '../../support/databases.ts';
import { fakeClock } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const KEPT = ['', '-wal', '.acknowledged'];
type Opened = Awaited<ReturnType<typeof openStore>>;

async function add(store: Opened, rows: number): Promise<void> {
  for (let n = 0; n < rows; n++)
    await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [eventDraft()] });
}

/** As a killed server leaves it, with `rows` in all; `before` of them are folded in. */
async function killed(rows: number, before = 0): Promise<string> {
  const [origin, path] = [join(temporaryFolder(), 'svc.db'), join(temporaryFolder(), 'svc.db')];
  const first = await openStore(origin);
  await add(first, before);
  await first.close();
  const store = await openStore(origin);
  await add(store, rows - before);
  for (const end of KEPT) copyFileSync(origin + end, path + end);
  await store.close();
  return path;
}

async function opened(path: string): Promise<Opened> {
  const store = await openStore(path);
  onTestFinished(() => store.close());
  return store;
}

const half = (path: string) => truncateSync(`${path}-wal`, readFileSync(`${path}-wal`).length / 2);
const spoiled = (path: string) => {
  const wal = readFileSync(`${path}-wal`);
  writeFileSync(`${path}-wal`, wal.fill(0x55, wal.length / 2, wal.length / 2 + 100));
};

it.each([
  ['missing', 'was missing', (path: string) => rmSync(`${path}-wal`)],
  ['empty', 'was missing', (path: string) => truncateSync(`${path}-wal`, 0)],
  ['cut', 'was truncated', half],
  [
    'cut by one frame',
    'was truncated',
    (path: string) => truncateSync(`${path}-wal`, readFileSync(`${path}-wal`).length - 1),
  ],
  ['damaged in the middle', 'was truncated', spoiled],
])('a log that is %s is noticed, over restarts, until it is accepted', async (_, words, spoil) => {
  const path = await killed(60, 20);
  spoil(path);
  const first = await openStore(path);
  expect((await first.sandboxes.countActive()).total).toBeLessThan(60);
  expect(first.condition().loss?.message).toContain(words);
  expect(first.condition().loss?.remedy).toContain('svc db accept');
  await add(first, 5);
  await first.close();
  const second = await opened(path);
  expect(second.condition().loss?.message).toContain(words);
  expect(await acceptLoss(path)).toMatchObject({ database: path, accepted: { log: expect.any(String) } });
  expect(second.condition()).toEqual({ isChecking: false });
  expect(await acceptLoss(path)).toEqual({ database: path });
});

it("another server's log is noticed", async () => {
  const [path, other] = [await killed(60, 20), await killed(60, 20)];
  copyFileSync(`${other}-wal`, `${path}-wal`);
  const store = await openStore(path).catch(() => undefined);
  onTestFinished(() => store?.close());
  // What the other's log makes of the file may be refused outright.
  if (store) expect(store.condition().loss).toBeDefined();
});

it.each([
  ['a log in use', 60, 20],
  ['a log that restarted from its start', 900, 0],
  ['a new database', 3, 0],
])('%s that is complete counts as no loss, after any number of kills', async (_, rows, before) => {
  const path = await killed(rows, before);
  const store = await opened(path);
  expect(store.condition()).toEqual({ isChecking: false });
  expect((await store.sandboxes.countActive()).total).toBe(rows);
  await add(store, 3);
  const copy = join(temporaryFolder(), 'svc.db');
  for (const end of KEPT) copyFileSync(path + end, copy + end);
  expect((await opened(copy)).condition()).toEqual({ isChecking: false });
});

it('an orderly stop removes the note for the comparison', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openStore(path);
  await add(store, 3);
  expect(existsSync(`${path}.acknowledged`)).toBe(true);
  await store.close();
  expect(existsSync(`${path}.acknowledged`)).toBe(false);
});

it.each(['', 'noise', '1 2', '-1 x 3', '9'.repeat(4000)])('a note of %j is ignored', async (text) => {
  const path = await killed(10);
  writeFileSync(`${path}.acknowledged`, text);
  expect((await opened(path)).condition()).toEqual({ isChecking: false });
});

it('a new database after the removal of the old one reports no loss', async () => {
  const path = await killed(10);
  for (const end of ['', '-wal', '.reserve']) rmSync(path + end, { force: true });
  expect((await opened(path)).condition()).toEqual({ isChecking: false });
});

it('a restore reports no loss, and clears an earlier one', async () => {
  const path = await killed(60, 20);
  const backup = join(temporaryFolder(), 'backup.db');
  await backupDatabase({ database: path, output: backup }, fakeClock());
  rmSync(`${path}-wal`);
  const store = await openStore(path);
  expect(store.condition().loss).toBeDefined();
  await store.close();
  await restoreDatabase({ input: backup, database: path }, fakeClock());
  const restored = await opened(path);
  expect(restored.condition()).toEqual({ isChecking: false });
  expect((await restored.sandboxes.countActive()).total).toBe(60);
});
