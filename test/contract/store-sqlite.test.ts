// The SQLite store keeps the contract, each test on a file of its own: with the writer in the caller's thread, and in a thread
// of its own, as beneath a server. The files are copies of one that was made empty: its migrations take longer than most tests.
import { copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { bundleOfSource } from '../support/child.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { removeFolder } from '../support/remove.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { storeContract } from './store.suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-store-'));
const empty = join(folder, 'svc.db');

beforeAll(async () => {
  const store = await openSqliteStore({ ...fakeDeps(), path: empty, synchronous: 'normal' });
  await store.close();
});
afterAll(() => removeFolder(folder));

function path(): string {
  const copy = join(temporaryFolder(), 'svc.db');
  copyFileSync(empty, copy);
  return copy;
}

storeContract('sqlite', () => openSqliteStore({ ...fakeDeps(), path: path(), synchronous: 'normal' }));

storeContract('sqlite in a thread', async () => {
  const thread = await bundleOfSource('src/app/store-thread.ts');
  return openSqliteStore({ ...fakeDeps(), path: path(), synchronous: 'normal', thread });
});
