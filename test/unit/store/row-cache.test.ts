// The row cache: frozen rows, a bounded number of them, none that is long, none older than an acknowledged write.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../../src/host/package-root.ts';
import { SANDBOX_COLUMNS, toSandboxRow } from '../../../src/store/rows.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { RowCache } from '../../../src/store/sqlite/row-cache.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import { sandboxRecord } from '../../support/records.ts';

/** A cache over a database of these rows. */
function cached(...records: SandboxRecord[]) {
  const db = new Sqlite(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const insert = db.prepare(
    `INSERT INTO sandboxes (${SANDBOX_COLUMNS}) VALUES (${SANDBOX_COLUMNS.map((column) => `@${column}`)})`,
  );
  db.transaction(() => records.map((record) => insert.run(toSandboxRow(record))))();
  const cache = new RowCache();
  return { cache, read: cache.reader(db), change: () => db.exec("UPDATE sandboxes SET image = 'new'") };
}

it('returns the same frozen row again', () => {
  const record = sandboxRecord({ metadata: { a: '1' }, env: { B: '2' } });
  const { read } = cached(record);
  const [row] = read([record.id]);
  expect(row).toEqual(record);
  expect(read([record.id])[0]).toBe(row);
  for (const part of [row, row?.metadata, row?.env]) expect(Object.isFrozen(part)).toBe(true);
});

it('keeps the order of the ids and leaves out missing rows', () => {
  const { read } = cached(sandboxRecord({ id: 'sb-a' }), sandboxRecord({ id: 'sb-b' }));
  read(['sb-b']);
  expect(read(['sb-b', 'sb-none', 'sb-a']).map(({ id }) => id)).toEqual(['sb-b', 'sb-a']);
});

it('keeps the newest of many rows', () => {
  const ids = Array.from({ length: 4001 }, (_, n) => `sb-${n}`);
  const { read, change } = cached(...ids.map((id) => sandboxRecord({ id, image: 'old' })));
  read(ids);
  change();
  expect(read(['sb-1', 'sb-0']).map(({ image }) => image)).toEqual(['old', 'new']);
});

it('reads a long row each time', () => {
  const record = sandboxRecord({ id: 'sb-long', metadata: { a: 'x'.repeat(2000) } });
  const { read, change } = cached(record);
  expect(read(['sb-long'])).toEqual([record]);
  change();
  expect(read(['sb-long'])[0]?.image).toBe('new');
});

it.each<[string, string, unknown[], string[]]>([
  ['sandboxes', 'reserve', [{ id: 'sb-new' }], ['old', 'old']],
  ['sandboxes', 'transition', [{ id: 'sb-a' }], ['new', 'old']],
  ['sandboxes', 'extend', ['sb-b'], ['old', 'new']],
  ['sandboxes', 'purgeEnded', [], ['new', 'new']],
  ['clock', 'set', [], ['new', 'new']],
  ['quotas', 'put', [], ['old', 'old']],
])('drops the rows that %s.%s may change, also when it fails', async (part, method, args, images) => {
  for (const end of [async () => undefined, () => Promise.reject(new Error('lost'))]) {
    const ids = ['sb-a', 'sb-b'];
    const { cache, read, change } = cached(...ids.map((id) => sandboxRecord({ id, image: 'old' })));
    read(ids);
    change();
    const call = cache.invalidating(part, method, end as (...given: unknown[]) => Promise<unknown>);
    await call(...args).catch(() => undefined);
    expect(read(ids).map(({ image }) => image)).toEqual(images);
  }
});

it('covers every file that writes the table', () => {
  const folder = join(packageRoot(), 'src/store/sqlite');
  const writes = /\b(?:UPDATE|INTO|DELETE FROM) sandboxes\b|table: 'sandboxes/;
  const files = readdirSync(folder).filter(
    (name) => name.endsWith('.ts') && writes.test(readFileSync(join(folder, name), 'utf8')),
  );
  expect(files).toEqual(['clock.ts', 'sandboxes.ts']);
});
