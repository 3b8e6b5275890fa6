// Backups while another process writes as fast as it can: each ends, is sound, and is one moment of the database.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { backupDatabase } from '../../src/ops/db/backup.ts';
import { startChild } from '../support/child.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

countFaults('backup and restore killed');

it('contains every row acknowledged before it, and no row without its predecessors', async () => {
  const database = join(temporaryFolder(), 'svc.db');
  const output = join(temporaryFolder(), 'b.db');
  const child = await startChild('store-writer.child.ts', [database, 'x']);
  for (let round = 1; round <= 5; round++) {
    await until('it writes', () => child.lines.length > round * 40);
    const acknowledged = child.lines.filter((line) => line.startsWith('reserved ')).length;
    await backupDatabase({ database, output, force: true }, fakeClock());
    const rows = numbersIn(output);
    expect(rows.length).toBeGreaterThanOrEqual(acknowledged);
    expect(rows).toEqual(rows.map((_, at) => at));
    const soFar = child.lines.length;
    await until('it continues to write', () => child.lines.length > soFar);
  }
  await child.kill();
});

/** The writer numbers its sandboxes from 0. */
function numbersIn(path: string): number[] {
  const db = new Sqlite(path, { readonly: true });
  const ids = db.prepare<[], string>('SELECT id FROM sandboxes').pluck().all();
  db.close();
  return ids.map((id) => Number(id.split('-').at(-1))).sort((a, b) => a - b);
}
