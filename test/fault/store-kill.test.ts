// kill -9 while the store writes: nothing acknowledged is lost, ids of events never repeat, the lock dies with its owner.

import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { type Child, startChild } from '../support/child.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { appended } from '../support/records.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

countFaults('server killed');

const ROUNDS = 10;
const open = (path: string) => openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });

it(`the store loses no acknowledged row in ${ROUNDS} kills`, async () => {
  const path = join(temporaryFolder(), 'svc.db');
  let newest = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const child = await startChild('store-writer.child.ts', [path, String(round)]);
    await until('it writes', () => child.lines.length > 50 + round * 37);
    await child.kill();
    const store = await open(path);
    const rows = await store.sandboxes.list({ limit: 1_000_000, metadata: { round: String(round) } });
    expect(missing(child, new Map(rows.map((row) => [row.id, row.state])))).toEqual([]);
    expect((await store.sandboxes.countActive()).total).toBe(
      (await store.sandboxes.list({ limit: 1_000_000 })).length,
    );
    const events = await store.events.since(newest, 1_000_000);
    expect(events.length).toBeGreaterThanOrEqual(child.lines.length - 1);
    newest = events.at(-1)!.id;
    const [next] = await appended(store.events, [{ type: 'exec.started', timestamp: '' }]);
    expect(next!.id).toBeGreaterThan(newest);
    newest = next!.id;
    await store.close();
  }
  const raw = new Sqlite(path);
  expect(raw.pragma('integrity_check', { simple: true })).toBe('ok');
  raw.close();
});

/** Lines that promised what the store does not hold. */
function missing(child: Child, states: Map<string, string>): string[] {
  return child.lines.slice(1).filter((line) => {
    const [said, id = ''] = line.split(' ');
    return said === 'reserved' ? !states.has(id) : states.get(id) !== said;
  });
}

it('the lock names its live holder and the address, and is free after kill -9', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const child = await startChild('store-writer.child.ts', [path, 'x']);
  await until('it is open', () => child.lines.length > 0);
  await expect(open(path)).rejects.toMatchObject({
    code: 'conflict',
    message: `The database is in use by process ${child.pid}, which answers at http://127.0.0.1:7423.`,
    details: { pid: child.pid },
  });
  await child.kill();
  await (await open(path)).close();
});
