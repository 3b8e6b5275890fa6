// Rows as callers see them, kept by the row: one caller must never get what was made for another.
import { expect, it } from 'vitest';
import { hasPreviews } from '../../../../src/control/access/previews.ts';
import type { Caller } from '../../../../src/control/api/caller.ts';
import { shownRow } from '../../../../src/control/records/views.ts';
import type { Provider } from '../../../../src/providers/provider.ts';
import { sandboxRecord } from '../../../support/records.ts';

const admin: Caller = { role: 'admin', actor: 'a', credential: 'a', request_id: '1' };
const api: Caller = { role: 'api', actor: 'b', credential: 'b', request_id: '2' };
const plain = { preview_domain: '' };

it('is made once for a frozen row, separately for each role', () => {
  const row = Object.freeze(sandboxRecord({ runtime_id: 'r1' }));
  const [forAdmin, forApi] = [shownRow(admin, row, plain), shownRow(api, row, plain)];
  expect(forAdmin).toMatchObject({ id: row.id, runtime_id: 'r1' });
  expect(forApi).not.toHaveProperty('runtime_id');
  expect(forApi).not.toHaveProperty('env');
  expect(shownRow(admin, row, plain)).toBe(forAdmin);
  expect(shownRow(api, row, plain)).toBe(forApi);
  expect(Object.isFrozen(forApi)).toBe(true);
});

it('is made again for another preview domain, and for a row that can change', () => {
  const row = Object.freeze(sandboxRecord({}));
  expect(shownRow(api, row, plain)).not.toHaveProperty('preview_domain');
  expect(shownRow(api, row, { preview_domain: 'a.test' })).toHaveProperty('preview_domain', 'a.test');
  expect(shownRow(api, row, plain)).not.toHaveProperty('preview_domain');
  const open = { ...row };
  expect(shownRow(api, open, plain)).not.toBe(shownRow(api, open, plain));
});

it('has no preview domain on another worker, or under a provider without connections', () => {
  const all = [{ kind: 'userspace', capabilities: ['connect'] }] as unknown as Provider[];
  const shown = {
    preview_domain: 'a.test',
    hasPreviews: (sandbox: Parameters<typeof hasPreviews>[1]) =>
      hasPreviews({ all }, sandbox, (id, ...what) => id === 'w-3' && what.join('/') === 'userspace/connect'),
  };
  const local = sandboxRecord({ provider: 'userspace', worker_id: 'local' });
  expect(shownRow(api, local, shown)).toHaveProperty('preview_domain', 'a.test');
  expect(shownRow(api, { ...local, worker_id: 'w-3' }, shown)).toHaveProperty('preview_domain', 'a.test');
  for (const change of [{ worker_id: 'w-2' }, { provider: 'custom' as const }])
    expect(shownRow(api, { ...local, ...change }, shown)).not.toHaveProperty('preview_domain');
});
