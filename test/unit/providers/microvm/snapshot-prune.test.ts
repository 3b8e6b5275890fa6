// Which snapshots go when a new one was made.
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  recordPath,
  type SnapshotFacts,
  snapshotKey,
  writeSnapshot,
} from '../../../../src/providers/microvm/snapshot.ts';
import { pruneSnapshots } from '../../../../src/providers/microvm/snapshot-prune.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { SNAPSHOT_FACTS } from './snapshot-facts.ts';

function ground() {
  const snapshots = temporaryFolder();
  let age = 0;
  const make = async (change: Partial<SnapshotFacts> = {}) => {
    const facts = { ...SNAPSHOT_FACTS, ...change };
    const folder = join(snapshots, snapshotKey(facts));
    mkdirSync(folder);
    writeFileSync(join(folder, 'memory'), '');
    const made = await writeSnapshot(folder, { facts, secret: '11'.repeat(16), created_at: '' });
    utimesSync(recordPath(folder), ++age, age);
    return made;
  };
  const left = () => readdirSync(snapshots).sort();
  return { snapshots, make, left };
}

it('removes replaced and incomplete snapshots', async () => {
  const { snapshots, make, left } = ground();
  const larger = await make({ memory_mb: 512 });
  const other = await make({ image: 'other', image_identity: 'other' });
  await make({ image_identity: 'older' });
  await make({ image: 'other', boot_id: 'before' });
  const broken = await make({ vcpus: 2 });
  rmSync(recordPath(broken.folder));
  const making = await make({ vcpus: 4 });
  rmSync(recordPath(making.folder));
  const made = await make();
  await pruneSnapshots({ snapshots }, made, (key) => key === making.key);
  expect(left()).toEqual([larger, other, making, made].map(({ key }) => key).sort());
});

it('keeps the eight snapshots that were used last', async () => {
  const { snapshots, make, left } = ground();
  const all: Awaited<ReturnType<typeof make>>[] = [];
  for (let vcpus = 1; vcpus <= 10; vcpus += 1) all.push(await make({ vcpus }));
  utimesSync(recordPath(all[0]?.folder ?? ''), 100, 100);
  await pruneSnapshots({ snapshots }, all[9]!, () => false);
  expect(left()).toEqual([0, 3, 4, 5, 6, 7, 8, 9].map((at) => all[at]?.key).sort());
});
