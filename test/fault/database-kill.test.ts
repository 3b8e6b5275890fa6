// kill -9 in the middle of backups and restores, at the beginning of every stage and at moments in between: under the
// final name is the old file or the new one, whole, and what was left over is gone after the next run.
import { copyFileSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { backupDatabase } from '../../src/ops/db/backup.ts';
import { restoreDatabase } from '../../src/ops/db/restore.ts';
import { verifyDatabase } from '../../src/store/sqlite/check.ts';
import { startChild } from '../support/child.ts';
import { makeDatabase, makeUnclosed, marksIn, openStore } from '../support/databases.ts';
import { FAKE_START, fakeClock } from '../support/fakes/ports.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

countFaults('backup and restore killed');

const ROWS = 400;
const STAGES = {
  backup: ['copy', 'check', 'install'],
  restore: ['copy', 'check', 'fold', 'keep', 'clear', 'install'],
};
/** With the nine stages, 60 trials. */
const MOMENTS = 26;

type Task = keyof typeof STAGES;

/** Runs the task in a child that dies at `stage`, or is killed after `ms`; whether it was done before. */
async function dieIn(task: Task, [from, to]: [string, string], death: { stage?: string; ms?: number }) {
  const child = await startChild('database-task.child.ts', [task, from, to, death.stage ?? '']);
  if (death.ms !== undefined) {
    await until('it is ready', () => child.lines.includes('ready'));
    await setTimeout(death.ms);
    await child.kill();
  }
  await child.ended;
  return child.lines.includes('done');
}

/** How long the whole task takes here, so that the moments lie in it. */
async function durationOf(task: Task, files: [string, string]): Promise<number> {
  const child = await startChild('database-task.child.ts', [task, ...files]);
  await until('it is ready', () => child.lines.includes('ready'));
  const started = performance.now();
  await child.ended;
  expect(child.lines).toContain('done');
  return performance.now() - started;
}

async function deathsOf(task: Task, files: [string, string]) {
  const length = await durationOf(task, files);
  const moments = Array.from({ length: MOMENTS }, (_, n) => ({ ms: (length * n) / MOMENTS }));
  return [...STAGES[task].map((stage) => ({ stage })), ...moments];
}

it('leaves the old backup or the new one', async () => {
  const database = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'new', ROWS);
  const folder = temporaryFolder();
  const output = join(folder, 'b.db');
  const old = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'old', 30);
  for (const death of await deathsOf('backup', [database, output])) {
    copyFileSync(old, output);
    const done = await dieIn('backup', [database, output], death);
    expect(done && 'stage' in death, 'it outlived its stage').toBe(false);
    expect([['30 old'], [`${ROWS} new`]]).toContainEqual(marksIn(output));
    if (done) expect(marksIn(output)).toEqual([`${ROWS} new`]);
    expect(verifyDatabase(output, 'rows').ok).toBe(true);
  }
  await backupDatabase({ database, output, force: true }, fakeClock());
  expect(readdirSync(folder)).toEqual(['b.db']);
});

it('leaves the old database or the restored one, and a backup of the old one once it is replaced', async () => {
  const origin = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'new', ROWS);
  const input = join(temporaryFolder(), 'b.db');
  await backupDatabase({ database: origin, output: input }, fakeClock());
  const old = await makeUnclosed(join(temporaryFolder(), 'svc.db'), 'old', 200);
  const folder = temporaryFolder();
  const database = join(folder, 'svc.db');
  const lay = () => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    for (const end of ['', '-wal']) copyFileSync(old + end, database + end);
  };
  lay();
  for (const death of await deathsOf('restore', [input, database])) {
    lay();
    const done = await dieIn('restore', [input, database], death);
    expect(done && 'stage' in death, 'it outlived its stage').toBe(false);
    const kept = readdirSync(folder).find((name) => /\.before-[\dTZ.]+$/.test(name));
    const isNew = kept !== undefined && marksIn(database).includes(`${ROWS} new`);
    // Opened as the service does, with what stands beside it.
    await (await openStore(database)).close();
    expect(marksIn(database)).toEqual([isNew ? `${ROWS} new` : '200 old']);
    if (kept) expect(marksIn(join(folder, kept))).toEqual(['200 old']);
    if (done) expect(isNew).toBe(true);
  }
  await restoreDatabase({ input, database }, fakeClock(FAKE_START + 1000));
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  expect(existsSync(`${database}-wal`)).toBe(false);
});
