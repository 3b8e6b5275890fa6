// P29 of the speed table: a backup with all its checks, against `sqlite3 .backup`, which checks nothing; and the same
// while another process writes 500 rows a second, against itself while that process is stopped.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { realClock } from '../src/host/clock.ts';
import { backupDatabase } from '../src/ops/db/backup.ts';
import { migrate } from '../src/store/sqlite/migrate.ts';
import type { Pair } from './row.ts';
import { clocked } from './stats.ts';

const ROWS = 20_000;
const run = promisify(execFile);

/** Ten rows, each a transaction of its own, every 20 ms. */
const WRITER = `
  import Sqlite from 'better-sqlite3';
  const db = new Sqlite(process.argv[1]);
  db.pragma('synchronous = NORMAL');
  const add = db.prepare("INSERT INTO events (type, timestamp, data) VALUES ('exec.started', '2026-01-01T00:00:00.000Z', '{}')");
  const reserve = db.prepare('UPDATE event_ids SET reserved_through = reserved_through + 10');
  console.log('ready');
  setInterval(() => { reserve.run(); for (let n = 0; n < 10; n += 1) add.run(); }, 20);
`;

/** Runs `work` with the rows of a database of about 100 MB in `home`, and ends its writer. */
export async function withBackups(
  root: string,
  home: string,
  work: (pairs: Pair[]) => Promise<void>,
): Promise<void> {
  const database = fill(join(home, 'svc.db'));
  const writer = await startWriter(root, database);
  try {
    await work(backupPairs(database, writer));
  } finally {
    writer.kill('SIGKILL');
  }
}

function backupPairs(database: string, writer: ChildProcess): Pair[] {
  const output = `${database}.backup`;
  const ours = async () => {
    rmSync(output, { force: true });
    return clocked(() => backupDatabase({ database, output }, realClock()));
  };
  const idle = async (deed: () => Promise<number>) => {
    writer.kill('SIGSTOP');
    return deed().finally(() => writer.kill('SIGCONT'));
  };
  const theirs = async () => {
    rmSync(output, { force: true });
    return clocked(() => run('sqlite3', [database, `.backup '${output}'`]));
  };
  const common = { pairs: 10, warmUps: 0 };
  return [
    {
      ...common,
      id: 'P29-idle',
      name: 'db backup of 100 MB with its checks, against sqlite3 .backup',
      target: 2,
      ours: () => idle(ours),
      baseline: () => idle(theirs),
    },
    {
      ...common,
      id: 'P29-busy',
      name: 'db backup under 500 writes a second of another process, against none',
      target: 1.5,
      ours,
      baseline: () => idle(ours),
    },
  ];
}

function fill(path: string): string {
  const db = new Sqlite(path);
  db.pragma('journal_mode = WAL');
  migrate(db);
  db.exec(`
    INSERT INTO instance VALUES ('11111111-2222-4333-8444-555555555555', '${'ab'.repeat(32)}', '2026-01-01T00:00:00.000Z');
    UPDATE event_ids SET reserved_through = ${ROWS};
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${ROWS})
      INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, data) SELECT i, 'exec.started', '2026-01-01T00:00:00.000Z', NULL, NULL,
        json_object('text', hex(randomblob(2400))) FROM n;
  `);
  db.close();
  return path;
}

async function startWriter(root: string, database: string): Promise<ChildProcess> {
  const args = ['--input-type=module', '-e', WRITER, database];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', () => reject(new Error('the writer ended')));
  });
  return child;
}
