// P15 of the speed table: from the commit that frees a place to the call of the provider for the next spawn that waits,
// behind 10,000 and, to see that the length does not matter, behind 100. One durable commit lies in between, whose price
// is the disk's.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { ControlPlane } from '../control/control-plane.ts';
import { withPlane } from './plane.ts';
import type { Pair } from './row.ts';
import { withHome } from './server.ts';

const PLACES = 4;
const OWNERS = 50;
const [MANY, FEW] = [10_000, 100];

const ENV = {
  SVC_DATABASE_PATH: 'svc.db',
  SVC_DEFAULTS_MAX_SANDBOXES: String(PLACES),
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '1h',
  SVC_DEFAULTS_MAX_SPAWN_QUEUE: String(2 * MANY),
};

export function withFreed(work: (pairs: Pair[]) => Promise<void>): Promise<void> {
  return withLine(MANY, (long) =>
    withLine(FEW, (short) =>
      withCommits((commit) =>
        work([
          {
            id: 'P15',
            name: `a freed place to the next spawn's start, ${MANY} waiting (a bare commit)`,
            target: 1,
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
function withCommits<T>(work: (commit: () => Promise<number>) => Promise<T>): Promise<T> {
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
  /** Frees a place; the ms until its successor is begun. One more comes to wait. */
  next(): Promise<number>;
}

/** A plane of its own in which so many wait. */
function withLine<T>(waiting: number, work: (line: Line) => Promise<T>): Promise<T> {
  const at = { freed: 0, begun: 0 };
  const watched = {
    freed: () => {
      at.freed = performance.now();
    },
    creating: () => {
      at.begun = performance.now();
    },
  };
  return withHome((home) =>
    withPlane({ home, env: ENV, watched }, async (control) => {
      const crowd = new Crowd(control);
      for (let n = 0; n < waiting + PLACES; n += 1) crowd.ask();
      while ((await depth(control)) < waiting) await pause(20);
      const next = async () => {
        await crowd.replace();
        return at.begun - at.freed;
      };
      return work({ next });
    }),
  );
}

const CALLER = { role: 'admin', credential: 'bench', request_id: 'bench' } as const;

class Crowd {
  readonly #control: ControlPlane;
  readonly #running: string[] = [];
  #asked = 0;
  #heard: () => void = () => {};

  constructor(control: ControlPlane) {
    this.#control = control;
  }

  /** One more comes; refused when the plane stops. */
  ask(): void {
    const caller = { ...CALLER, owner: `owner-${this.#asked++ % OWNERS}` };
    this.#control.sandboxes.spawn({ ttl: '1h' }, caller, {}, new AbortController().signal).then(
      ({ id }) => {
        this.#running.push(id);
        this.#heard();
      },
      () => {},
    );
  }

  /** One goes, the next one has started, and one more has come. */
  async replace(): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#heard = resolve;
    });
    await this.#control.sandboxes.destroy(this.#running.shift() ?? '', CALLER);
    await started;
    this.ask();
    // What that takes is not the next one's.
    await pause(0);
  }
}

async function depth(control: ControlPlane): Promise<number> {
  return (await control.sandboxes.admission({}, CALLER)).queue_depth;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
