// The writer in a thread of its own: a thread that ends takes nothing with it that was acknowledged, and says so.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../../src/host/clock.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/open.ts';
import { bundleOfSource } from '../../support/child.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

async function opened(thread: string): Promise<{ store: SqliteStore; path: string }> {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openSqliteStore({
    ...fakeDeps(),
    clock: realClock(),
    path,
    synchronous: 'full',
    thread,
  });
  onTestFinished(() => store.close());
  return { store, path };
}

const program = () => bundleOfSource('src/app/store-thread.ts');

it('waits for a write of another program, and answers reads meanwhile', async () => {
  const { store, path } = await opened(await program());
  const other = new Sqlite(path, { timeout: 0 });
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const row = sandboxRecord();
  const writing = store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [eventDraft()] });
  expect(await store.sandboxes.list({ limit: 9 })).toEqual([]);
  expect(await store.sandboxes.inStates(['creating'], 9)).toEqual([]);
  other.exec('COMMIT');
  expect(await writing).toMatchObject({ kind: 'reserved' });
  expect(await store.sandboxes.get(row.id)).toEqual(row);
});

it('closes while a write waits for another program', async () => {
  const { store, path } = await opened(await program());
  const other = new Sqlite(path, { timeout: 0 });
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const failed = expect(
    store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] }),
  ).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The service is stopping.',
  });
  await store.close();
  await failed;
});

it('reports failures with their error codes, and the SQLite error for the log', async () => {
  const { store } = await opened(await program());
  const row = sandboxRecord();
  await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  await expect(store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] })).rejects.toMatchObject({
    code: 'conflict',
    status: 409,
    remedy: expect.any(String),
    cause: expect.objectContaining({ code: expect.stringContaining('SQLITE_CONSTRAINT') }),
  });
});

it('acknowledges nothing once its thread has ended and reports the loss; reads continue', async () => {
  const real = await program();
  const dying = join(temporaryFolder(), 'dying.mjs');
  writeFileSync(
    dying,
    `import { parentPort } from 'node:worker_threads';
     const on = parentPort.on.bind(parentPort);
     parentPort.on = (name, listener) => on(name, (message) => {
       if (JSON.stringify(message).includes('sb-doomed')) process.exit(1);
       listener(message);
     });
     await import(${JSON.stringify(real)});`,
  );
  const { store } = await opened(dying);
  const row = sandboxRecord();
  await store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  const doomed = sandboxRecord({ id: 'sb-doomed' });
  const ENDED = { code: 'unavailable', message: expect.stringContaining('has ended') };
  await expect(
    store.sandboxes.reserve({ sandbox: doomed, limits: NO_CAP, events: [] }),
  ).rejects.toMatchObject(ENDED);
  expect(await store.lost).toMatchObject(ENDED);
  await expect(
    store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] }),
  ).rejects.toMatchObject(ENDED);
  await expect(store.ping()).rejects.toMatchObject(ENDED);
  expect(await store.sandboxes.get(row.id)).toEqual(row);
});
