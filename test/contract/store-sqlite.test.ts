// The SQLite store keeps the contract, each test on a file of its own.
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { fakeDeps } from '../support/fakes.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { storeContract } from './store.suite.ts';

storeContract('sqlite', () =>
  openSqliteStore({ ...fakeDeps(), path: join(temporaryFolder(), 'svc.db'), synchronous: 'normal' }),
);
