// What a snapshot is known by, and when it is one no longer.
import { appendFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  readSnapshot,
  recordPath,
  type SnapshotFacts,
  snapshotKey,
  writeSnapshot,
} from '../../../../src/providers/microvm/snapshot.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { SNAPSHOT_FACTS } from './snapshot-facts.ts';

const FACTS = SNAPSHOT_FACTS;
const RECORD = { facts: FACTS, secret: '11'.repeat(16), created_at: '2026-01-02T03:04:05.000Z' };

async function saved(facts = FACTS) {
  const folder = temporaryFolder();
  for (const name of ['memory', 'state', 'overlay']) writeFileSync(join(folder, name), 'x'.repeat(5000));
  return { folder, snapshot: await writeSnapshot(folder, { ...RECORD, facts }) };
}

it('has another key for any changed fact, in any order of the facts', () => {
  const changed = Object.entries(FACTS).map(([name, value]) =>
    snapshotKey({ ...FACTS, [name]: typeof value === 'number' ? value + 1 : `${value}x` }),
  );
  expect(new Set([snapshotKey(FACTS), ...changed]).size).toBe(changed.length + 1);
  const reversed = Object.fromEntries(Object.entries(FACTS).reverse()) as unknown as SnapshotFacts;
  expect(snapshotKey(reversed)).toBe(snapshotKey(FACTS));
});

it('is read as it was written', async () => {
  const { folder, snapshot } = await saved();
  expect(await readSnapshot(folder)).toEqual(snapshot);
  expect(snapshot.overlay).toBe(join(folder, 'overlay'));
  const without = await saved({ ...FACTS, overlay_mb: 0 });
  expect((await readSnapshot(without.folder))?.overlay).toBeUndefined();
});

it.each<[string, (folder: string) => void]>([
  ['a file was cut', (folder) => truncateSync(join(folder, 'memory'), 100)],
  ['a file grew', (folder) => appendFileSync(join(folder, 'state'), 'x')],
  ['a file was written to', (folder) => writeFileSync(join(folder, 'overlay'), 'y', { flag: 'r+' })],
  ['a file is missing', (folder) => rmSync(join(folder, 'memory'))],
  ['saving it never ended', (folder) => rmSync(recordPath(folder))],
  ['its record is not JSON', (folder) => writeFileSync(recordPath(folder), '{')],
  ['its record is another thing', (folder) => writeFileSync(recordPath(folder), '{"files":{},"facts":null}')],
  [
    'its secret is none',
    (folder) => writeFileSync(recordPath(folder), JSON.stringify({ ...RECORD, files: {}, secret: 'x' })),
  ],
])('is ignored when %s', async (_what, spoil) => {
  const { folder } = await saved();
  spoil(folder);
  expect(await readSnapshot(folder)).toBeUndefined();
});
