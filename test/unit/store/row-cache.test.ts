// Rows that are kept in memory: frozen, at most so many, none that is long.
import { expect, it } from 'vitest';
import { RowCache } from '../../../src/store/sqlite/row-cache.ts';
import { sandboxRecord } from '../../support/records.ts';

it('gives the same one again, which nobody can change, and forgets', () => {
  const known = new RowCache();
  const row = sandboxRecord({ metadata: { a: '1' }, env: { B: '2' } });
  known.add(row, 100);
  expect(known.get(row.id)).toBe(row);
  for (const part of [row, row.metadata, row.env]) expect(Object.isFrozen(part)).toBe(true);
  known.forget(row.id);
  expect(known.get(row.id)).toBeUndefined();
});

it('keeps the newest of many, and nothing that is long', () => {
  const known = new RowCache();
  const rows = Array.from({ length: 4001 }, (_, n) => sandboxRecord({ id: `sb-${n}` }));
  for (const row of rows) known.add(row, 100);
  expect(known.get('sb-0')).toBeUndefined();
  expect(known.get('sb-1')).toEqual(rows[1]);
  known.add(sandboxRecord({ id: 'sb-long' }), 2001);
  expect(known.get('sb-long')).toBeUndefined();
  known.forgetAll();
  expect(known.get('sb-4000')).toBeUndefined();
});
