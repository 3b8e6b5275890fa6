// A user-mode network leads to public addresses, and to none of the host, its link, its cloud and private networks, by whatever means
// a program has. Every address around the host answers, so whatever gets out is noted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { HOSTILE_NAMES, hostileTargets } from '../support/checks/hostile-targets.ts';
import { networkPrograms } from '../support/checks/leftovers.ts';
import { type EgressNetwork, egressKey, egressNetwork, OWN_PUBLIC } from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { EgressWorker } from '../support/servers/egress-worker.ts';
import { cli, makeHome, packageRoot, removeHome, startServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const ATTEMPTS = readFileSync(join(packageRoot, 'test/support/checks/user-attempts.py'), 'utf8');
const NOBODY = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
const PUBLIC = '93.184.216.34';
/** The network's own router and what would be beside it. 198.18.0.3 leads to that address of the host's network (docs/network.md). */
const ROUTER = ['198.18.0.1', '198.18.0.2', '198.18.0.5', '198.18.0.255'];

const hello = (client: Api, id: string) =>
  client.sh(id, 'curl -sS -m 10 http://api.example.com/hello.txt http://93.184.216.34/hello.txt');

/** Spawns a sandbox, and leaves it running. Others with a policy or without a network are as without it. */
async function leadsToPublicAlone(client: Api, net: EgressNetwork): Promise<string> {
  const { id, warnings = [] } = await client.spawn({});
  expect(warnings.filter((line) => /network|name/i.test(line))).toEqual([]);
  expect((await hello(client, id)).stdout).toBe('hello\nhello\n');
  expect(net.reached()).toEqual([`outside ${PUBLIC}:80`, `outside ${PUBLIC}:80`]);
  // UDP, too.
  await client.sh(id, `/usr/bin/python3 - '["8.8.8.8"]' 1 <<'E'\n${ATTEMPTS}\nE`);
  expect(net.lookups().filter((name) => name.startsWith('hostile.'))).toContain('hostile.plain.example');

  net.clear();
  const targets = [...hostileTargets([net.address, 'fd77::2', OWN_PUBLIC, net.gateway]), ...ROUTER];
  const tried = await client.sh(
    id,
    `/usr/bin/python3 - '${JSON.stringify(targets)}' 4 <<'E'\n${ATTEMPTS}\nE`,
    { timeout: '1m' },
  );
  expect(tried).toMatchObject({ stdout: `tried ${targets.length}\n`, exit_code: 0 });
  expect(net.reached()).toEqual([]);
  expect(net.lookups().filter((name) => name.startsWith('hostile.'))).toEqual([]);

  // Policies, and no network, are as without it.
  const closed = await client.spawn({ network: 'none' });
  const policed = await client.spawn({ egress: { allow: ['other.example.com'] } });
  for (const each of [closed, policed]) {
    expect((await client.sh(each.id, 'ip -br link')).stdout).not.toContain('tap0');
    expect((await hello(client, each.id)).stdout).not.toContain('hello');
  }
  expect(net.reached()).toEqual([]);
  for (const each of [closed, policed]) await client.destroy(each.id);
  return id;
}

describeWith(['root', 'unshare', 'bwrap', 'slirp4netns', 'python3', 'openssl'], 'a user-mode network', () => {
  let net: EgressNetwork;

  beforeAll(async () => {
    net = await egressNetwork(cli, () => ({ 'api.example.com': [PUBLIC], ...HOSTILE_NAMES }));
  });
  beforeEach(() => net.clear());
  afterAll(() => net.remove());

  async function serving(runner: string, isOrdinary: boolean, home: string) {
    const [program = '', ...rest] = net.launch.program;
    const inside = isOrdinary
      ? [program, ...rest.slice(0, -3), ...NOBODY, ...rest.slice(-3)]
      : net.launch.program;
    const env = {
      ...net.launch.env,
      ...{ SVC_PROVIDERS_USERSPACE_RUNNER: runner, SVC_PROVIDERS_USERSPACE_NETWORK: 'user' },
      SVC_PROVIDERS_USERSPACE_NAME_SERVERS: String(net.launch.env.SVC_EGRESS_RESOLVER),
    };
    return startServer({ node: net.launch.node, program: inside, env, home });
  }

  it.each([
    ['unshare', false],
    ['bwrap', false],
    ['unshare', true],
    ['bwrap', true],
  ])(
    'leads to public addresses alone [%s, ordinary user: %s]',
    async (runner, isOrdinary) => {
      const home = makeHome(isOrdinary);
      onTestFinished(() => removeHome(home));
      const server = await serving(runner, isOrdinary, home);
      const client = api(server.url, egressKey);
      const id = await leadsToPublicAlone(client, net);
      expect(networkPrograms()).toHaveLength(1);
      await client.destroy(id);
      expect(networkPrograms()).toEqual([]);
      expect(await server.stop()).toBe(0);
    },
    120_000,
  );

  it('outlives the server with its sandbox, and ends with it', async () => {
    const home = makeHome(false);
    onTestFinished(() => removeHome(home));
    const first = await serving('auto', false, home);
    const client = api(first.url, egressKey);
    const { id } = await client.spawn({});
    const other = await client.spawn({});
    expect(networkPrograms()).toHaveLength(2);
    first.child.kill('SIGKILL');
    const second = await serving('auto', false, home);
    const again = api(second.url, egressKey);
    expect((await hello(again, id)).stdout).toBe('hello\nhello\n');
    // Its process 1 ends it, whoever ends that.
    const folder = join('/run/svc', second.instance, `${other.id}.1`, 'runtime.json');
    const { pid } = JSON.parse(readFileSync(folder, 'utf8')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await until('one is left', () => networkPrograms().length === 1);
    await again.destroy(id);
    expect(networkPrograms()).toEqual([]);
    expect(await second.stop()).toBe(0);
  });
});

describeWith(
  ['root', 'unshare', 'slirp4netns', 'python3', 'openssl'],
  'a user-mode network on a worker',
  () => {
    const world = new EgressWorker((net) => ({
      ...{ SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_PROVIDERS_USERSPACE_NETWORK: 'user' },
      SVC_PROVIDERS_USERSPACE_NAME_SERVERS: String(net.launch.env.SVC_EGRESS_RESOLVER),
    }));

    beforeAll(() => world.start(() => ({ 'api.example.com': [PUBLIC], ...HOSTILE_NAMES })), 120_000);
    afterAll(async () => {
      expect(await world.end()).toBe(0);
    }, 120_000);

    it('leads to public addresses alone, from the host of the worker', async () => {
      const { client, net } = world;
      net.clear();
      const id = await leadsToPublicAlone(client, net);
      const { body } = await client.call<{ worker_id: string }>('GET', `/sandboxes/${id}`);
      expect(body.worker_id).toBe('far');
      expect(networkPrograms()).toHaveLength(1);
      await client.destroy(id);
      await until('it has ended', () => networkPrograms().length === 0);
    }, 120_000);
  },
);
