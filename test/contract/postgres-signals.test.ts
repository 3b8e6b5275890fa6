// Signals between processes on one PostgreSQL database: by notification, and by polling where no notification comes.
import { beforeEach, expect, it } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import type { SignalKind } from '../../src/store/seam/signals.ts';
import type { Store } from '../../src/store/store.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import {
  administer,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  urlOf,
} from '../support/hosts/postgres.ts';
import { eventDraft } from '../support/records.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

describeWith(['postgres'], 'signals over PostgreSQL', () => {
  let server: PostgresServer;
  let url: string;
  const stores: Store[] = [];
  const open = async (listen: boolean) => {
    let ids = 0;
    const uuid = () => `${String(stores.length)}0000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`;
    const deps = fakeDeps();
    const store = await openPostgresStore({
      ...{ ...deps, clock: quickClock(1), ids: { ...deps.ids, uuid }, url },
      ...{ program: '0.0.0-test', pool: 4, prepare: true, requireSyncStandby: false, listen },
    });
    stores.push(store);
    return store;
  };
  beforeEach(async () => {
    server = await sharedPostgres();
    url = urlOf(await temporaryDatabase(server), server.port);
    return async () => {
      await Promise.all(stores.splice(0).map((store) => store.close()));
    };
  });

  const heard = (store: Store, kind: SignalKind) => {
    const subjects: (string | undefined)[] = [];
    const stop = store.signals.on(kind, (subject) => subjects.push(subject));
    return { subjects, stop };
  };

  it('reach every process with their subject', async () => {
    const [one, other] = [await open(true), await open(true)];
    const { subjects } = heard(other, 'ticket');
    await until('the signal came', async () => {
      one.signals.send('ticket', 'sb-1 ü');
      return subjects.includes('sb-1 ü');
    });
  });

  it('reach others also right before their process closes the store', async () => {
    const [one, other] = [await open(true), await open(true)];
    const { subjects } = heard(other, 'roles');
    await until('it listens', async () => subjects.length > 0);
    one.signals.send('roles', 'r-1');
    await one.close();
    await until('the signal came', async () => subjects.includes('r-1'));
  });

  it('are made up for by polling where no session can listen', async () => {
    const [one, other] = [await open(true), await open(false)];
    const [tickets, events] = [heard(other, 'ticket'), heard(other, 'events')];
    await until('the first look', async () => events.subjects.length === 1);
    one.signals.send('ticket', 'sb-1');
    await until('the clock woke it', async () => tickets.subjects.length > 1);
    expect(new Set(tickets.subjects)).toEqual(new Set([undefined]));
    expect(events.subjects).toHaveLength(1);
    await one.events.append([eventDraft()]);
    await until('the event was noticed', async () => events.subjects.length === 2);
    events.stop();
  });

  it('count as every signal when the connection that listens was lost', async () => {
    const [one] = [await open(true)];
    const { subjects } = heard(one, 'events');
    await until('the first look', async () => subjects.length > 0);
    await until('it listens', async () => {
      const rows = await administer<{ pid: number }>(
        server,
        `SELECT pg_terminate_backend(pid) AS pid FROM pg_stat_activity
          WHERE datname = '${new URL(url).pathname.slice(1)}' AND query LIKE 'LISTEN%'`,
      );
      return rows.length > 0;
    });
    const before = subjects.length;
    await until('it looked again', async () => subjects.length > before);
  });

  it('that no listener understands end nothing', async () => {
    const [one] = [await open(true)];
    const stop = one.signals.on('ticket', (subject) => {
      if (subject !== undefined) JSON.parse(subject);
    });
    const { subjects } = heard(one, 'ticket');
    await until('the signal came', async () => {
      // Every user who may connect to the database may do this.
      const database = new URL(url).pathname.slice(1);
      await administer(server, "SELECT pg_notify('svc_signals', 'ticket {')", database);
      return subjects.includes('{');
    });
    stop();
  });
});
