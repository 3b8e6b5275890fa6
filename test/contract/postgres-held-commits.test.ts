// Commits that the database holds because no standby confirms them: calls fail, their writes appear much later, and nothing of
// them is left. The hold is 7 s in place of half a minute: longer than all attempts of a call, which decides what is tested.
import { beforeEach, expect, it } from 'vitest';
import { Replica } from '../../proof/simulation/replicas.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { Store } from '../../src/store/store.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import { administer, ownPostgres, type PostgresServer, urlOf } from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { api, forever, type World, world } from '../support/servers/control.ts';
import { until } from '../support/until.ts';

const HELD_MS = Number(process.env.SVC_TEST_HELD_MS ?? 7000);
const SETTLED_MS = 60_000;

describeWith(['postgres'], 'commits that are held', () => {
  let server: PostgresServer;
  let store: Store;
  let w: World;
  let replica: Replica;
  beforeEach(async () => {
    server = await ownPostgres();
    const alone = world({ defaults: { max_sandboxes: 10 } });
    const clock = { ...alone.clock, ...quickClock(1), now: () => Date.now() };
    let ids = 0;
    const uuid = () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
    store = await openPostgresStore({
      ...{ ...alone, clock, random: seededRandom(1), ids: { ...alone.ids, uuid } },
      ...{ url: urlOf('postgres', server.port), program: '0.0.0-test', pool: 8, prepare: true },
      requireSyncStandby: false,
    });
    w = { ...alone, clock, store };
    replica = new Replica(w, () => ({ kind: 'pass', ms: 0 }));
    await replica.control.start();
    return async () => {
      await replica.control.stop();
      await store.close();
    };
  });

  /** Commits wait for `names`. */
  const standby = async (names: string) => {
    await administer(server, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
    await administer(server, 'SELECT pg_reload_conf()');
    await until('the setting', async () => {
      const [row] = await administer<object>(server, 'SHOW synchronous_standby_names');
      return Object.values(row ?? {})[0] === names;
    });
  };
  const held = () =>
    administer<{ pid: number }>(server, "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  const spawn = (key?: string) =>
    replica.control.sandboxes
      .spawn({ ttl: '1h' }, api, key === undefined ? {} : { idempotencyKey: key }, forever)
      .then(
        ({ id }) => id,
        ({ code }: { code: string }) => code,
      );
  const live = () => store.sandboxes.list({ limit: 100 });

  it('leaves nothing of a spawn that was refused while its row was being written', async () => {
    await standby('ghost');
    const since = performance.now();
    expect(await Promise.all([spawn(), spawn(), spawn('k')])).toEqual(Array(3).fill('unavailable'));
    expect(performance.now() - since).toBeLessThan(20_000);
    await w.clock.sleep(Math.max(0, HELD_MS - (performance.now() - since)));
    expect(await held()).not.toEqual([]);
    await standby('');
    await until('nothing is held', async () => (await held()).length === 0);
    await until('what was left open has ended', async () => (await live()).length === 0, SETTLED_MS);
    expect([...w.fake.runtimes.values()]).toEqual([]);
    const again = await spawn('k');
    expect((await live()).map(({ id }) => id)).toEqual([again]);
  });

  it('leaves nothing of a spawn that was refused while it was being marked as running', async () => {
    const { create } = w.provider;
    let isMade = false;
    w.provider.create = async (...given) => {
      const made = await create(...given);
      await standby('ghost');
      isMade = true;
      return made;
    };
    const refused = spawn();
    await until('the runtime was made', () => isMade);
    w.provider.create = create;
    expect(await refused).toBe('unavailable');
    await w.clock.sleep(HELD_MS);
    await standby('');
    await until('nothing is held', async () => (await held()).length === 0);
    await until('what was left open has ended', async () => (await live()).length === 0, SETTLED_MS);
    expect([...w.fake.runtimes.values()]).toEqual([]);
  });
});
