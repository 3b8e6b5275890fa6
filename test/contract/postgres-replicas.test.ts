// Several stores over one PostgreSQL database, as several processes have them: limits hold together, readers miss no event, and
// nothing is acknowledged that a standby does not have.
import { beforeEach, expect, it } from 'vitest';
import type { AdmissionLimits } from '../../src/domain/admission.ts';
import type { Event } from '../../src/schema/event.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { SandboxRecord, Store } from '../../src/store/store.ts';
import { fakeDeps, seededRandom } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import {
  administer,
  ownPostgres,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  urlOf,
} from '../support/hosts/postgres.ts';
import { eventDraft, NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import { describeWith } from '../support/requires.ts';
import { boundStatements } from '../support/scripted/bound-statements.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { until } from '../support/until.ts';

let seeds = 0;

/** Processes differ in their random numbers and ids. */
function open(url: string, factor = 1): Promise<Store> {
  const seed = ++seeds;
  let ids = 0;
  const uuid = () => `${String(seed).padStart(8, '0')}-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
  return openPostgresStore({
    ...{ ...fakeDeps(), clock: quickClock(factor), random: seededRandom(seed), url },
    ...{
      ids: { ...fakeDeps().ids, uuid },
      program: '0.0.0-test',
      pool: 8,
      prepare: true,
      requireSyncStandby: false,
    },
  });
}

describeWith(['postgres'], 'stores over one database', () => {
  let server: PostgresServer;
  let database: string;
  let stores: Store[];
  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
    const url = urlOf(database, server.port);
    stores = await Promise.all([open(url), open(url), open(url)]);
    return async () => {
      await Promise.all(stores.map((store) => store.close()));
    };
  });

  it('tell how many events wait for their ids, and whether commits wait for a standby', async () => {
    const [store] = stores as [Store];
    const resting = { outbox_events: 0, outbox_age_seconds: 0, standbys: 0, waits_for_standby: false };
    await until('all have ids', async () => (await store.shared?.state())?.outbox_events === 0);
    expect(await store.shared?.state()).toEqual(resting);
    const columns = `(eid, type, timestamp, is_last) VALUES ('e1', 'quota.changed', '${new Date(Date.now() - 60_000).toISOString()}', false)`;
    await administer(server, `INSERT INTO outbox ${columns}`, database);
    const waiting = await store.shared?.state();
    expect(waiting?.outbox_events).toBe(1);
    expect(waiting?.outbox_age_seconds).toBeGreaterThan(59);
  });

  it('have one identity', () => {
    expect(stores[1]!.instance).toEqual(stores[0]!.instance);
    expect(stores[2]!.instance).toEqual(stores[0]!.instance);
  });

  const REMOTE = { providers: ['userspace'], rpc_url: 'http://w:1', capacity: { max_sandboxes: 10 } };
  const PLACEMENT = {
    ...{ heartbeat_after: stamp(-60), local: false, remote: true, sessions: false },
    lease_until: stamp(90),
  };
  const OWNER = { max_sandboxes: 10, maxTtlMs: 0, maxExecTimeoutMs: 0 };

  it.each<[string, AdmissionLimits, Partial<SandboxRecord>]>([
    ['all sandboxes', { max_sandboxes: 10 }, {}],
    ['a provider', { ...NO_CAP, max_provider_sandboxes: 10 }, {}],
    ['an owner', { ...NO_CAP, owner: OWNER }, { owner_id: 'ann' }],
    ['a worker', { ...NO_CAP, placement: PLACEMENT }, {}],
    [
      'all of these',
      { max_sandboxes: 10, max_provider_sandboxes: 12, owner: OWNER, placement: PLACEMENT },
      { owner_id: 'ann' },
    ],
  ])('admit together exactly the limit of %s, and again after ends', async (_, limits, facts) => {
    await stores[0]!.workers.heard('w1', REMOTE, stamp(), { most: 5 });
    const admit = async () => {
      const made = await Promise.all(
        Array.from({ length: 60 }, (_unused, n) =>
          stores[n % 3]!.sandboxes.reserve({ sandbox: sandboxRecord(facts), limits, events: [eventDraft()] }),
        ),
      );
      expect(new Set(made.map(({ kind }) => kind))).toEqual(new Set(['reserved', 'denied']));
      return made.flatMap((one) => (one.kind === 'reserved' ? [one.sandbox] : []));
    };
    const first = await admit();
    expect(first).toHaveLength(10);
    const ends = first.slice(0, 4).map(({ id, epoch }, n) =>
      stores[n % 3]!.sandboxes.transition({
        ...{ id, epoch, from: ['creating'], events: [] },
        patch: { state: 'destroyed', ended_at: stamp(1) },
      }),
    );
    expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(4);
    expect(await admit()).toHaveLength(4);
    expect((await stores[1]!.sandboxes.countActive()).total).toBe(10);
    // One of the stores numbers them, soon after.
    await until('all events', async () => (await stores[2]!.events.since(0, 100)).length === 14);
    const leases = await stores[0]!.leases.list();
    expect(leases).toHaveLength(limits.placement ? 10 : 0);
  });

  it('deny admissions without a write', async () => {
    const limits = { ...NO_CAP, max_sandboxes: 1 };
    const names: string[] = [];
    const proxy = await tcpProxy(() => server.port, {
      losesAnswerOf: (request) => {
        names.push(...boundStatements(request));
        return false;
      },
    });
    const store = await open(urlOf(database, proxy.port));
    const admit = async () => {
      return (await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits, events: [eventDraft()] }))
        .kind;
    };
    expect(await admit()).toBe('reserved');
    await store.events.since(0, 1);
    names.length = 0;
    expect(new Set([await admit(), ...(await Promise.all(Array.from({ length: 20 }, admit)))])).toEqual(
      new Set(['denied']),
    );
    expect(names.filter((name) => name.startsWith('write-'))).toEqual([]);
    expect(names).toContain('admission-facts');
    await store.close();
  });

  it('let one of many rivals win an idempotency key', async () => {
    const claim = { scope: 's', key: 'k', fingerprint: 'f' };
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        stores[n % 3]!.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [], claim }),
      ),
    );
    expect(claims.map(({ kind }) => kind).sort()).toEqual([...Array(11).fill('replay'), 'reserved']);
    const ids = new Set(
      claims.map((one) =>
        one.kind === 'reserved' ? one.sandbox.id : one.kind === 'replay' && one.sandbox_id,
      ),
    );
    expect(ids.size).toBe(1);
  });

  it('give a reader who resumes by id every event once, whoever wrote it', async () => {
    const written: string[] = [];
    const writers = stores.flatMap((store, at) =>
      Array.from({ length: 3 }, async (_, writer) => {
        for (let n = 0; n < 25; n++) {
          const request = `${at}.${writer}.${n}`;
          await store.events.append([eventDraft({ type: 'exec.started', data: { request } })]);
          written.push(request);
        }
      }),
    );
    let isDone = false;
    const done = Promise.all(writers).then(() => {
      isDone = true;
    });
    const read: Event[] = [];
    for (let isLast = false; !isLast; ) {
      isLast = isDone;
      if (isLast) for (const store of stores) await store.events.bounds();
      for (;;) {
        const page = await stores[0]!.events.since(read.at(-1)?.id ?? 0, 7);
        read.push(...page);
        if (page.length < 7) break;
      }
    }
    await done;
    const requests = read.map(({ data }) => String(data?.request));
    expect(requests.slice().sort()).toEqual(written.sort());
    const ids = read.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  });

  it('show what another process committed before the reading began, and has not numbered', async () => {
    const { newest } = await stores[0]!.events.bounds();
    const draft = { eid: 'of-another', type: 'exec.started', timestamp: stamp(), is_last: false };
    await administer(server, `SELECT svc_tell_17('${JSON.stringify([draft])}')`, database);
    expect((await stores[1]!.events.bounds()).newest).toBe(newest + 1);
  });

  it('drop what another one buffered about a sandbox until after its end', async () => {
    const [one, other] = stores as [Store, Store, Store];
    const row = sandboxRecord();
    await one.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
    const end = eventDraft({ type: 'sandbox.destroyed', sandbox_id: row.id });
    const patch = { state: 'destroyed', ended_at: stamp(1) } as const;
    await one.sandboxes.transition({ id: row.id, from: ['creating'], epoch: 1, patch, events: [end] });
    await one.events.bounds();
    await other.events.append([
      eventDraft({ type: 'exec.completed', sandbox_id: row.id }),
      eventDraft({ type: 'exec.completed', sandbox_id: 'sb-other' }),
    ]);
    const told = (await other.events.since(0, 10)).map(({ type, sandbox_id }) => [type, sandbox_id]);
    expect(told).toEqual([
      ['sandbox.destroyed', row.id],
      ['exec.completed', 'sb-other'],
    ]);
  });

  it.each([
    [false, 10_002],
    [true, 2],
  ])('continue ids after a promotion (with a synchronous standby: %s)', async (isSynchronous, next) => {
    await stores[0]!.events.append([eventDraft()]);
    await stores[0]!.events.bounds();
    await administer(
      server,
      `UPDATE event_ids SET timeline = '0000FFFF', is_synchronous = ${isSynchronous}`,
      database,
    );
    await stores[1]!.events.append([eventDraft()]);
    const events = await stores[1]!.events.since(0, 10);
    expect(events.map(({ id }) => id)).toEqual([1, next]);
  });

  it('acknowledge nothing that no standby has, and recover when it is back', async () => {
    const own = await ownPostgres();
    const url = urlOf('postgres', own.port);
    const store = await open(url, 4);
    const standby = (names: string) =>
      administer(own, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`).then(() =>
        administer(own, 'SELECT pg_reload_conf()'),
      );
    const record = sandboxRecord();
    await standby('ghost');
    await until('commits wait', async () => {
      const [row] = await administer<{ names: string }>(own, 'SHOW synchronous_standby_names');
      return Object.values(row ?? {})[0] === 'ghost';
    });
    const reserved = store.sandboxes.reserve({ sandbox: record, limits: NO_CAP, events: [] });
    await expect(reserved).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('may have happened'),
    });
    await standby('');
    await until('writes are acknowledged', () =>
      store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] }).then(
        ({ kind }) => kind === 'reserved',
        () => false,
      ),
    );
    expect(await store.sandboxes.get(record.id)).toMatchObject({ state: 'creating' });
    await store.close();
  });
});
