// Templates of a database from before they had owners: shared, and named where they hold an environment.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { readSharedSecrets } from '../../../src/store/sqlite/offline-reads.ts';
import { databaseOfVersion, openStore } from '../../support/databases.ts';
import { templateRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const LIMITS = { most: 9, ofOwner: 9 };

it('migrates templates as shared ones with all their values', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  databaseOfVersion(path, 6);
  const db = new Sqlite(path);
  db.exec(`INSERT INTO templates (name, description, version, image, provider, memory_mb, vcpus, ttl, network, metadata, env,
      setup, prewarm, created_at, updated_at)
    SELECT 'py', 'd', 3, 'i', 'userspace', 64, 2, '1h', 'none', '[["k","v"]]', '[["TOKEN","hush"]]', '["x"]', 4,
      created_at, updated_at FROM templates WHERE name = 't'`);
  db.close();
  expect(readSharedSecrets(path)).toEqual(['py']);
  const store = await openStore(path);
  const [py, plain] = [await store.templates.get({ name: 'py' }), await store.templates.get({ name: 't' })];
  await store.templates.create(templateRecord({ name: 'own', owner_id: 'ann', env: { A: 'b' } }), LIMITS);
  await store.close();
  expect(py).toEqual({
    ...{
      name: 'py',
      description: 'd',
      version: 3,
      image: 'i',
      provider: 'userspace',
      memory_mb: 64,
      vcpus: 2,
    },
    ...{ ttl: '1h', network: 'none', metadata: { k: 'v' }, env: { TOKEN: 'hush' }, setup: ['x'], prewarm: 4 },
    ...{ worker_labels: {}, created_at: plain?.created_at, updated_at: plain?.updated_at },
  });
  expect(plain).toMatchObject({ name: 't', image: 'host', setup: ['true'] });
  expect(readSharedSecrets(path)).toEqual(['py']);
});
