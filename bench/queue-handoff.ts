// P15 of the speed table: from the commit that frees capacity to the provider call for the next waiting spawn, behind 10,000
// and, to show that the length does not matter, behind 100. Both are in one durable commit.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { withPlane } from './control-plane.ts';
import { withHome } from './folders.ts';
import { Crowd, handoffs, QUEUEING } from './queued-spawns.ts';
import type { Pair } from './row.ts';

const [MANY, FEW] = [10_000, 100];

export function withFreed(root: string, work: (pairs: Pair[]) => Promise<void>): Promise<void> {
  return withLine(root, MANY, (long) =>
    withLine(root, FEW, (short) =>
      withCommits((commit) =>
        work([
          {
            id: 'P15',
            name: `freed capacity to the next spawn's start, ${MANY} waiting (a bare commit)`,
            target: 1,
            limit: () =>
              'the start and the end before it share a durable commit; the baseline is a bare one.',
            judged: 'figure',
            pairs: 500,
            ours: () => long.next(),
            baseline: commit,
          },
          {
            id: 'P15-flat',
            name: `the same, against ${FEW} waiting`,
            target: 1.25,
            pairs: 500,
            ours: () => long.next(),
            baseline: () => short.next(),
          },
        ]),
      ),
    ),
  );
}

/** One row made durable, by hand. */
export function withCommits<T>(work: (commit: () => Promise<number>) => Promise<T>): Promise<T> {
  return withHome((home) => {
    const db = new Sqlite(join(home, 'commits.db'));
    for (const setting of ['journal_mode = WAL', 'synchronous = FULL']) db.pragma(setting);
    db.exec('CREATE TABLE rows (row TEXT)');
    const insert = db.prepare('INSERT INTO rows VALUES (?)');
    const row = 'x'.repeat(400);
    const commit = async () => {
      const began = performance.now();
      insert.run(row);
      return performance.now() - began;
    };
    return work(commit).finally(() => db.close());
  });
}

interface Line {
  /** Frees capacity and adds a spawn to the queue; the ms until the next one starts. */
  next(): Promise<number>;
}

/** A control plane of its own with that many queued spawns. */
function withLine<T>(root: string, waiting: number, work: (line: Line) => Promise<T>): Promise<T> {
  const { watched, next } = handoffs();
  return withHome((home) =>
    withPlane({ root, home, env: QUEUEING, watched }, async (control) => {
      const crowd = new Crowd(control);
      await crowd.wait(waiting);
      return work({ next: () => next(crowd) });
    }),
  );
}
