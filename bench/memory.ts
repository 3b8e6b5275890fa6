// P22 of the speed table: the memory of a server that idles, of a thousand sandboxes in its database, and of an open
// session with a sandbox's agent.
import { join } from 'node:path';
import { concurrently, destroyAll } from '../src/cli/batch.ts';
import { withHome } from './folders.ts';
import { fillDatabase } from './list.ts';
import { INSPECTED } from './live-heap.ts';
import { liveMb, residentMb, settledMb } from './memory-use.ts';
import type { Pair } from './row.ts';
import { type BenchServer, withServer } from './server.ts';

/** One start of Node differs from the next by some megabytes. */
const STARTS = 7;
const SESSIONS = 300;
/** Before them: these bring code and heap to their size. */
const FIRST = 100;
const ENV = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_DEFAULTS_MAX_SANDBOXES: '0' };

export function heldPairs(root: string): Pair[] {
  const inServer = (home: string, work: (server: BenchServer) => Promise<number>, extra = {}) =>
    withServer(root, { home, env: { ...ENV, ...extra } }, work);
  const idle = (home: string) => inServer(home, ({ pid }) => settledMb(pid, residentMb));
  // The samples of P22-idle, which are the baseline of P22-rows, too.
  const idles: number[] = [];
  return [
    {
      id: 'P22-idle',
      name: 'resident memory of an idle server',
      target: 120,
      unit: 'MB',
      warmUps: 0,
      pairs: STARTS,
      ours: async () => {
        const mb = await withHome(idle);
        idles.push(mb);
        return mb;
      },
    },
    {
      id: 'P22-rows',
      name: 'the same with 1,000 sandboxes in its database',
      target: 2,
      unit: 'MB',
      warmUps: 0,
      pairs: STARTS,
      judged: 'difference',
      ours: () => withHome((home) => filled(home).then(() => idle(home))),
      baseline: async () => idles.shift() ?? withHome(idle),
    },
    {
      id: 'P22-session',
      name: `memory of an open session, of ${SESSIONS}`,
      target: 30,
      unit: 'KB',
      warmUps: 0,
      pairs: 3,
      ours: () => withHome((home) => inServer(home, sessions, { NODE_OPTIONS: INSPECTED })),
    },
  ];

  async function filled(home: string): Promise<void> {
    await inServer(home, async ({ client }) => {
      const { id } = await client.spawn({ metadata: { purpose: 'bench' } });
      await client.destroy(id);
      return 0;
    });
    fillDatabase(join(home, 'svc.db'));
  }
}

/** Sandboxes are there before and after; a first command opens the session of each. Garbage of commands is not counted. */
async function sessions({ client, pid, home }: BenchServer): Promise<number> {
  const ids: string[] = [];
  await concurrently(Array.from({ length: FIRST + SESSIONS }), async () => {
    ids.push((await client.spawn({ ttl: '1h', memory_mb: 64 })).id);
  });
  const use = async (some: readonly string[]) => {
    for (const id of some) await client.exec(id, { command: 'true' });
  };
  await use(ids.slice(0, FIRST));
  const held = () => liveMb({ pid, log: join(home, 'log') });
  const before = await held();
  await use(ids.slice(FIRST));
  const each = (((await held()) - before) / SESSIONS) * 1024;
  await destroyAll(client, ids);
  return each;
}
