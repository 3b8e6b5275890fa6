// The SQLite store keeps the contract, each test on a file of its own: with the writer in the caller's thread, and in a thread
// of its own, as beneath a server.
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { bundleOfSource } from '../support/child.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { storeContract } from './store.suite.ts';

const path = () => join(temporaryFolder(), 'svc.db');

storeContract('sqlite', () => openSqliteStore({ ...fakeDeps(), path: path(), synchronous: 'normal' }));

storeContract('sqlite in a thread', async () => {
  const thread = await bundleOfSource('src/app/store-thread.ts');
  return openSqliteStore({ ...fakeDeps(), path: path(), synchronous: 'normal', thread });
});
