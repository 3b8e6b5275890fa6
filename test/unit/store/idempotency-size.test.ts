// What an idempotency key takes on the disk: about what its answer is long, with the indexes that find it.

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../support/databases.ts';
import { NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const KEYS = 500;
const ANSWER = 'x'.repeat(1024);

it('keeps an answer of 1 KB in less than 2 KB', async () => {
  const [plain, keyed] = [await sizeWith(false), await sizeWith(true)];
  const each = (keyed - plain) / KEYS;
  expect(each).toBeGreaterThan(1024);
  expect(each).toBeLessThan(2048);
});

async function sizeWith(hasKey: boolean): Promise<number> {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openStore(path);
  for (let n = 0; n < KEYS; n++) {
    const row = sandboxRecord({ id: `sb-${n}` });
    const claim = { scope: 'owner', key: `key-${n}`, fingerprint: 'f'.repeat(64) };
    await store.sandboxes.reserve({
      sandbox: row,
      limits: NO_CAP,
      events: [],
      claim: hasKey ? claim : undefined,
    });
    const change = { id: row.id, epoch: 1, from: ['creating' as const], events: [] };
    const patch = { state: 'running' } as const;
    await store.sandboxes.transition({ ...change, patch, ...(hasKey && { response: ANSWER }) });
  }
  await store.close();
  return statSync(path).size;
}
