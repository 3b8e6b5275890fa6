// Checks all pages in a separate process: SQLite cannot be interrupted from within, but a process can be killed. A
// thread reads, so that the process notices when its parent ends, and ends too.
import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { run } from '../../host/run.ts';
import { matcher } from './row-check.ts';

/** Longer than any database of one host takes. */
const DEADLINE_MS = 24 * 3_600_000;

const READ = `
  const matches = (${matcher})();
  const { parentPort, workerData } = require('node:worker_threads');
  const Sqlite = require(workerData.sqlite);
  new Sqlite(':memory:').close();
  parentPort.once('message', ({ path, statements }) => {
    try {
      const db = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: 5000 });
      for (const guard of ['trusted_schema = OFF', 'cell_size_check = ON', 'query_only = ON']) db.pragma(guard);
      const ask = (sql) => db.prepare(sql).pluck().all();
      const lines = ask('PRAGMA ' + workerData.check);
      db.function('regexp', { deterministic: true }, matches);
      const rows = lines[0] === 'ok' ? statements.flatMap(ask) : undefined;
      parentPort.postMessage({ lines, rows });
    } catch (error) {
      parentPort.postMessage({ code: String(error.code), message: error.message });
    }
  });
`;

const PROGRAM = `
  const [sqlite, check, nice, read] = process.argv.slice(1);
  try { require('node:os').setPriority(Number(nice)); } catch {}
  const { Worker } = require('node:worker_threads');
  const worker = new Worker(read, { eval: true, workerData: { sqlite, check } });
  worker.once('message', (answer) => process.stdout.write(JSON.stringify(answer), () => process.exit(0)));
  worker.once('error', () => process.exit(1));
  let question = '';
  process.stdin.on('data', (part) => {
    question += part;
    if (question.endsWith('\\n')) worker.postMessage(JSON.parse(question));
  });
  process.stdin.once('end', () => process.kill(process.pid, 'SIGKILL'));
`;

/** The lines of the check, or the result code that prevented it. */
export type CheckAnswer = { lines: string[]; rows?: string[] } | { code: string; message: string };

export interface CheckProcess {
  /**
   * Checks one file; if all pages are intact, also returns the results of `statements`, one text a row. They may use
   * REGEXP. Undefined if the process gave no answer; rejects with the signal's reason.
   */
  ask(path: string, statements?: readonly string[]): Promise<CheckAnswer | undefined>;
}

/** Starts the process, which then waits for its request. `check` is a PRAGMA; `nice` as in nice(1). */
export function startCheckProcess(check: string, signal: AbortSignal, nice = 0): CheckProcess {
  const sqlite = createRequire(import.meta.url).resolve('better-sqlite3');
  const input = new PassThrough();
  const args = ['-e', PROGRAM, sqlite, check, String(nice), READ];
  const ended = run(process.execPath, args, { timeoutMs: DEADLINE_MS, input, signal });
  // A process that is never asked must not cause an unhandled rejection.
  ended.catch(() => undefined);
  return {
    ask: async (path, statements = []) => {
      input.write(`${JSON.stringify({ path, statements })}\n`);
      try {
        const { stdout } = await ended;
        return stdout === '' ? undefined : (JSON.parse(stdout) as CheckAnswer);
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'unavailable') return undefined;
        throw error;
      }
    },
  };
}
