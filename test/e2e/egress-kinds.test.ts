// The same policies in every kind of sandbox, of the server and of a worker: in a container without a network through the proxy, and
// in a virtual machine through the transparent gate as well.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodedForms } from '../../src/redact/encoded-forms.ts';
import { HOSTILE_NAMES, hostileTargets } from '../support/checks/hostile-targets.ts';
import {
  answersNoByteOf,
  holdsNoByteOf,
  INTERCEPTED_NAMES,
  SECRET,
  showsInterception,
} from '../support/checks/intercepted.ts';
import { type EgressNetwork, egressKey, egressNetwork, OWN_PUBLIC } from '../support/hosts/egress-network.ts';
import { inContainers, inMachine, type Runtime } from '../support/hosts/matrix.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { endInNetwork } from '../support/servers/egress-end.ts';
import { EgressWorker } from '../support/servers/egress-worker.ts';
import { cli, packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const PUBLIC = '93.184.216.34';
const ATTEMPTS = readFileSync(join(packageRoot, 'test/support/checks/egress-attempts.py'), 'utf8');
const WIDE = { default: 'allow', allow: ['0.0.0.0/0:*', '[::/0]:*', '*:*'] };

type World = { net: EgressNetwork; client: Api };

async function reachesOnlyPublic({ net, client }: World, mode: 'gate' | 'proxy'): Promise<void> {
  const { id, egress } = await client.spawn({ egress: WIDE });
  expect(egress?.mode).toBe(mode);
  const targets = hostileTargets([net.address, 'fd77::2', OWN_PUBLIC]);
  const list = [
    { way: 'http', host: 'api.example.com', port: 80 },
    { way: 'plain', host: 'api.example.com', port: 80 },
    { way: 'plain', host: net.address, port: 80 },
    ...targets.flatMap((host) => ['connect', 'plain'].map((way) => ({ way, host, port: 80 }))),
  ];
  for (const [path, content] of [
    ['attempts.py', ATTEMPTS],
    ['list', JSON.stringify(list)],
  ]) {
    const written = await client.call('PUT', `/sandboxes/${id}/files/workspace/${path}`, { content });
    expect(written.status).toBe(200);
  }
  const run = await client.sh(id, 'cd /workspace; /usr/bin/python3 attempts.py < list', {
    timeout: '9m',
  });
  expect(run.stderr).toBe('');
  const answers: string[] = JSON.parse(run.stdout);
  expect(answers[0]).toMatch(/^HTTP\/1\.1 200 /);
  expect(answers[1]).toMatch(mode === 'gate' ? /^HTTP\/1\.1 200 / : /^failed/);
  expect(answers[2]).toMatch(mode === 'gate' ? /^HTTP\/1\.1 403 .*x-svc-egress: address_/s : /^failed/);
  expect(answers.slice(3).filter((answer) => /^HTTP\/1\.[01] 200/.test(answer))).toEqual([]);
  expect(net.reached()).toEqual(Array(mode === 'gate' ? 2 : 1).fill(`outside ${PUBLIC}:80`));
  await client.destroy(id);
}

const TITLE = 'reaches what the policy allows, and nothing that is hostile';
const NAMES = () => ({ ...INTERCEPTED_NAMES, ...HOSTILE_NAMES });

const body =
  (mode: 'gate' | 'proxy') =>
  ({ env }: Runtime) => {
    let net: EgressNetwork;
    let server: TestServer;

    beforeAll(async () => {
      net = await egressNetwork(cli, NAMES);
      server = await startServer({ ...net.launch, env: { ...net.launch.env, ...env } });
    }, 240_000);
    afterAll(async () => expect(await endInNetwork(server, net)).toBe(0), 240_000);

    it(TITLE, () => reachesOnlyPublic({ net, client: api(server.url, egressKey) }, mode), 600_000);
  };

const onWorker =
  (mode: 'gate' | 'proxy') =>
  ({ env }: Pick<Runtime, 'env'>) => {
    const world = new EgressWorker(env);

    beforeAll(() => world.start(NAMES), 300_000);
    afterAll(async () => {
      expect(await world.end()).toBe(0);
    }, 240_000);

    it(TITLE, () => reachesOnlyPublic(world, mode), 600_000);
    it('adds credentials in TLS of programs, whose value neither they nor logs hold', async () => {
      const { client, net } = world;
      const id = await showsInterception(client, net, mode === 'gate');
      await holdsNoByteOf(client, id, SECRET);
      await answersNoByteOf(client, id, SECRET);
      await client.destroy(id);
      const logs = world.log + world.server.log();
      expect(logs).toContain('"level":"debug"');
      expect([SECRET, ...encodedForms(SECRET)].filter((form) => logs.includes(form))).toEqual([]);
    }, 240_000);
  };

inContainers(['runc'], { needs: ['python3-testsuite', 'openssl'], name: 'egress' }, body('proxy'));
inMachine(['python3-testsuite', 'openssl'], 'egress', body('gate'));
describeWith(['root', 'unshare', 'python3', 'openssl'], 'egress of userspace on a worker', () =>
  onWorker('gate')({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } }),
);
inContainers(
  ['runc'],
  { needs: ['python3-testsuite', 'openssl'], name: 'egress on a worker' },
  onWorker('proxy'),
);
inMachine(['python3-testsuite', 'openssl'], 'egress on a worker', onWorker('gate'));

describeWith(['proot'], 'egress of sandboxes of proot', () => {
  it('is refused: they have the network of the host', async () => {
    const server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'proot' } });
    const { status, body: refusal } = await api(server.url).call('POST', '/sandboxes', { egress: {} });
    expect([status, JSON.stringify(refusal)]).toEqual([501, expect.stringContaining('userspace')]);
    await server.stop();
    removeHome(server.home);
  });
});
