// One hostile tenant and one ordinary on a server that is set up as for production: owners enforced, limits on. Every call
// of the ordinary one is answered, and nothing of what it has gives way. Quiet and hostile phases take turns, and how long
// its calls take in each is printed: on a shared machine that is a figure to look at and no bound to fail by.
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import WebSocket from 'ws';
import { figures, ratioOfMedians } from '../../src/bench/stats.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { type Api, api } from '../support/api.ts';
import { startChild } from '../support/child.ts';
import { countFaults } from '../support/proof/faulted.ts';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer, type TestServer } from '../support/server.ts';

const KEY = 'tenants-key-0123456789abcdef0123456789ab';
const ENV = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: KEY,
  SVC_AUTH_ADMIN_API_KEY: 'admins-key-0123456789abcdef0123456789abc',
  SVC_AUTH_ENFORCE_OWNER: 'true',
  SVC_AUTH_QUOTA_WRITES: 'admin',
  SVC_RATE_LIMIT_ENABLED: 'true',
  SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: '600',
  SVC_RATE_LIMIT_BURST: '120',
  SVC_DEFAULTS_MAX_SANDBOXES: '40',
  SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: '2',
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '2s',
};
const ROUNDS = 4;
/** In each phase; both phases of a round stay within what the rate limit allows one owner at once. */
const [GETS, EXECS] = [30, 15];
/** For the attack to be under way, and for what it left in the queue to be over. */
const [WARM_MS, COOL_MS] = [500, 2500];

interface Sample {
  get: number[];
  exec: number[];
}

describeWith(['root', 'unshare'], 'an ordinary tenant beside a hostile one', () => {
  countFaults('hostile tenants');
  let server: TestServer;
  let held: string[];
  const tenant = (owner: string) => api(server.url, { 'x-api-key': KEY, 'x-user-id': owner });
  beforeAll(async () => {
    server = await startServer({ env: ENV });
    const mallory = tenant('mallory');
    held = [(await mallory.spawn({ ttl: '1h' })).id, (await mallory.spawn({ ttl: '1h' })).id];
  });
  afterAll(async () => {
    await server?.kill();
    if (server) removeHome(server.home);
  });

  const timed = async (call: Promise<{ status: number }>) => {
    const begin = performance.now();
    expect((await call).status).toBe(200);
    return performance.now() - begin;
  };

  async function ask(ann: Api, id: string, { get, exec }: Sample): Promise<void> {
    for (let n = 0; n < GETS; n += 1) get.push(await timed(ann.call('GET', `/sandboxes/${id}`)));
    for (let n = 0; n < EXECS; n += 1)
      exec.push(await timed(ann.call('POST', `/sandboxes/${id}/exec`, { command: 'true' })));
  }

  /** One ordinary tenant in each round: its calls would else meet its own limit. */
  async function measured(): Promise<{ quiet: Sample; loud: Sample }> {
    const [quiet, loud]: [Sample, Sample] = [
      { get: [], exec: [] },
      { get: [], exec: [] },
    ];
    for (let round = 0; round < ROUNDS; round += 1) {
      const ann = tenant(`ann-${round}`);
      const { id } = await ann.spawn({ ttl: '1h' });
      await ann.call('POST', `/sandboxes/${id}/exec`, { command: 'true' });
      await ask(ann, id, quiet);
      const mallory = await startChild('hostile-tenant.child.ts', [server.url, KEY, ...held]);
      await pause(WARM_MS);
      await ask(ann, id, loud);
      if (round === ROUNDS - 1) await hasAllOfItsOwn(ann, id);
      await mallory.kill();
      await pause(COOL_MS);
      await ann.destroy(id);
    }
    return { quiet, loud };
  }

  /** While the other attacks: its rows, its events, a WebSocket, a sandbox more. */
  async function hasAllOfItsOwn(ann: Api, id: string): Promise<void> {
    expect((await ann.call('GET', '/sandboxes?include_ended=true')).body).toMatchObject([{ id }]);
    const owner = (await ann.call<Sandbox>('GET', `/sandboxes/${id}`)).body.owner_id ?? '';
    expect(await (await ann.raw('/events?follow=false&since=0')).text()).toContain(id);
    expect(await opened(owner, id)).toBe('open');
    await ann.destroy((await ann.spawn({ ttl: '1h' })).id);
  }

  function opened(owner: string, id: string): Promise<string> {
    const url = `${server.url.replace('http', 'ws')}/api/v1/sandboxes/${id}/exec/ws`;
    const ws = new WebSocket(url, { headers: { 'x-api-key': KEY, 'x-user-id': owner } });
    return new Promise<string>((resolve) => {
      ws.on('open', () => resolve('open'));
      ws.on('error', ({ message }) => resolve(message));
    }).finally(() => ws.terminate());
  }

  it('is served all the while and loses nothing', async () => {
    const { quiet, loud } = await measured();
    const [was, is] = [quiet, loud].map(({ get, exec }) => ({ get: figures(get), exec: figures(exec) }));
    console.log('ms without and beside a hostile tenant:', JSON.stringify({ was, is }));
    const ratios = {
      get: ratioOfMedians(loud.get, quiet.get),
      exec: ratioOfMedians(loud.exec, quiet.exec),
    };
    console.log('ratio of medians:', JSON.stringify(ratios));
    expect([loud.get.length, loud.exec.length]).toEqual([ROUNDS * GETS, ROUNDS * EXECS]);
  });
});
