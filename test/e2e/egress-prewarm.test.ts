// Prewarmed sandboxes with an egress policy: their setup runs under the policy of the template, nothing leaves while they wait, and
// the policy of whoever takes one holds from that moment.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EgressLogLine, EgressStatus } from '../../src/schema/egress.ts';
import type { EgressNetwork } from '../support/hosts/egress-network.ts';
import { egressKey, egressNetwork } from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { endInNetwork } from '../support/servers/egress-end.ts';
import { EgressWorker } from '../support/servers/egress-worker.ts';
import { cli, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const NAMES = () => ({
  'api.example.com': ['93.184.216.34'],
  'other.example.com': ['93.184.216.35'],
});
const SETUP = [
  'curl -sS http://api.example.com/hello.txt > /workspace/made',
  // It goes on, and counts its attempts.
  'setsid sh -c "while :; do curl -sS -m 1 http://api.example.com/hello.txt; echo x >> /workspace/tries; done" >/dev/null 2>&1 </dev/null &',
];

type World = { net: EgressNetwork; client: Api; server: TestServer };
type Metrics = { prewarm: { ready: number; claimed_total: number } };

async function holdsFromTheTake({ net, client, server }: World, mode: 'gate' | 'proxy'): Promise<void> {
  const urls = (server.replicas ?? [server]).map(({ url }) => url);
  const prewarm = async () => {
    // Each server counts what it gave out itself.
    const all = await Promise.all(urls.map((url) => api(url, egressKey).call<Metrics>('GET', '/metrics')));
    const ready = all[0]?.body.prewarm.ready ?? 0;
    return { ready, claimed_total: all.reduce((sum, { body }) => sum + body.prewarm.claimed_total, 0) };
  };
  const admin = { ...egressKey, 'x-admin-api-key': `${egressKey['x-api-key']}-admin` };
  const template = { image: 'host', provider: 'userspace', memory_mb: 64, prewarm: 1, setup: SETUP };
  const egress = { mode, allow: ['api.example.com', 'other.example.com'] };
  const made = await client.call('POST', '/templates', { name: 'py', ...template, egress }, admin);
  expect(made).toMatchObject({ status: 201 });
  await until('a ready one', async () => (await prewarm()).ready === 1, 60_000);
  expect(net.requests()).toContain('api.example.com/hello.txt');
  net.clear();
  const { claimed_total: before } = await prewarm();
  // Its own program goes on to ask, and nothing leaves.
  for (let times = 0; times < 20; times++) await prewarm();
  expect(net.reached()).toEqual([]);
  const policy = { egress: { mode, allow: ['other.example.com'] } };
  const { id, egress: summary } = await client.spawn({ template: 'py', ...policy });
  expect((await prewarm()).claimed_total).toBe(before + 1);
  expect(summary).toMatchObject({ mode });
  const { body: log } = await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log?limit=1000`);
  expect(log.filter(({ decision }) => decision === 'allowed')).toEqual([]);
  const { stdout } = await client.sh(
    id,
    'cat made; for host in api other; do curl -sS http://$host.example.com/hello.txt; done',
  );
  expect(stdout).toMatch(/^hello\napi.example.com:80 is not allowed.*\nhello\n$/s);
  // The next one is made meanwhile, so what was reached is not of this sandbox alone.
  const { body: after } = await client.call<EgressLogLine[]>(
    'GET',
    `/sandboxes/${id}/egress/log?decision=allowed`,
  );
  expect(after.map(({ host }) => host)).toEqual(['other.example.com']);
  const status = await client.call<EgressStatus>('GET', `/sandboxes/${id}/egress`);
  expect(status.body).toMatchObject({ is_open: true, mode });
  expect(status.body.layers.map(({ name }) => name)).toEqual(['server', 'template', 'spawn']);
  await client.destroy(id);
  await client.call('DELETE', '/templates/py', undefined, admin);
}

describeWith(['root', 'unshare', 'python3', 'openssl'], 'prewarmed sandboxes with a policy', () => {
  let net: EgressNetwork;
  let server: TestServer;

  beforeAll(async () => {
    net = await egressNetwork(cli, NAMES);
    const env = { ...net.launch.env, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    server = await startServer({ ...net.launch, env });
  });
  afterAll(async () => expect(await endInNetwork(server, net)).toBe(0));

  it.each(['gate', 'proxy'] as const)(
    'have it from the moment they are taken, through the %s',
    async (mode) => {
      await holdsFromTheTake({ net, server, client: api(server.url, egressKey) }, mode);
    },
  );
});

describeWith(
  ['root', 'unshare', 'python3', 'openssl'],
  'prewarmed sandboxes with a policy on a worker',
  () => {
    const world = new EgressWorker({ SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' });

    beforeAll(() => world.start(NAMES), 240_000);
    afterAll(async () => {
      expect(await world.end()).toBe(0);
    }, 240_000);

    it('have it from the moment they are taken', () => holdsFromTheTake(world, 'gate'));
  },
);
