// Credentials in TLS that programs speak themselves: unchanged clients in real sandboxes get the header, and trust the server for
// hosts with a credential alone.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodedForms } from '../../src/redact/encoded-forms.ts';
import {
  answersNoByteOf,
  holdsNoByteOf,
  INTERCEPTED_NAMES,
  INTERCEPTED_POLICY,
  SECRET,
  showsInterception,
} from '../support/checks/intercepted.ts';
import { type EgressNetwork, egressKey, egressNetwork } from '../support/hosts/egress-network.ts';
import { inContainers, inMachine, type Runtime } from '../support/hosts/matrix.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const HELLO = 'https://api.example.com/hello.txt';
const CLIENTS: readonly (readonly [string, string, string])[] = [
  ['curl', `curl -sS ${HELLO}`, 'hello\n'],
  ['wget', `wget -qO- ${HELLO}`, 'hello\n'],
  [
    'pip',
    '/usr/bin/python3 -m pip -q --disable-pip-version-check install --no-cache-dir --target=lib --index-url https://pypi.example.com/simple demo 2>&1; PYTHONPATH=lib /usr/bin/python3 -m demo',
    'hello from demo\n',
  ],
  ['git', 'git clone -q https://git.example.com/repo.git && cat repo/README', 'hello from git\n'],
  [
    'fetch of Node.js',
    `/usr/bin/node -e "fetch('${HELLO}').then((a) => a.text()).then((t) => process.stdout.write(t))"`,
    'hello\n',
  ],
];

interface World {
  net: EgressNetwork;
  server: TestServer;
  client: Api;
}

/** A server whose targets have certificates of an authority that it trusts. */
function world(env: () => Record<string, string>): () => World {
  const folder = mkdtempSync(join(tmpdir(), 'svc-intercept-'));
  const made: Partial<World> = {};
  beforeAll(async () => {
    const net = await egressNetwork(cli, () => INTERCEPTED_NAMES);
    made.net = net;
    writeFileSync(join(folder, 'ca.pem'), net.ca);
    const more = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), ...env() };
    made.server = await startServer({ ...net.launch, env: { ...net.launch.env, ...more } });
    made.client = api(made.server.url, egressKey);
  }, 240_000);
  afterAll(async () => {
    try {
      expect(await made.server?.stop()).toBe(0);
    } finally {
      if (made.server) removeHome(made.server.home);
      made.net?.remove();
      removeFolder(folder);
    }
  }, 240_000);
  return () => made as World;
}

describeWith(['root', 'unshare', 'bwrap', 'python3', 'openssl'], 'interception in userspace', () => {
  describe.each(['unshare', 'bwrap'])('%s', (runner) => {
    const of = world(() => ({ SVC_PROVIDERS_USERSPACE_RUNNER: runner }));

    it('adds the header in TLS of programs, through the gate', async () => {
      const { client, net } = of();
      const id = await showsInterception(client, net, true);
      for (const [name, command, expected] of CLIENTS) {
        net.clear();
        const run = await client.sh(id, `cd /workspace; ${command}`, { timeout: '2m' });
        expect({ name, ...run }).toMatchObject({ name, exit_code: 0, stdout: expected });
        expect(new Set(net.authorizations())).toEqual(new Set([`Bearer ${SECRET}`]));
      }
      // A program that has just used the credential is still connected.
      await client.sh(
        id,
        `setsid /usr/bin/python3 -c "import http.client as h, time; c = h.HTTPSConnection('api.example.com'); c.request('GET', '/hello.txt'); c.getresponse().read(); time.sleep(300)" >/dev/null 2>&1 </dev/null &`,
      );
      await holdsNoByteOf(client, id, SECRET);
      await answersNoByteOf(client, id, SECRET);
      await client.destroy(id);
    }, 240_000);

    it('uses the connection to the target again for programs that follow one another', async () => {
      const { client, net } = of();
      const { id } = await client.spawn({ egress: INTERCEPTED_POLICY });
      net.clear();
      const run = await client.sh(
        id,
        `/usr/bin/python3 -c "import urllib.request as r; [print(r.urlopen('${HELLO}').read().decode(), end='') for _ in range(30)]"`,
      );
      expect(run.stdout).toBe('hello\n'.repeat(30));
      expect(net.authorizations()).toEqual(Array.from({ length: 30 }, () => `Bearer ${SECRET}`));
      // One that connects before the server has seen the end of the last one gets a connection of its own.
      expect(net.reached().length).toBeLessThan(10);
      await client.destroy(id);
    });

    it('adds it through the proxy, too', async () => {
      const { client, net } = of();
      const { id } = await client.spawn({ egress: { ...INTERCEPTED_POLICY, mode: 'proxy' } });
      net.clear();
      expect(await client.sh(id, `curl -sS ${HELLO}`)).toMatchObject({ stdout: 'hello\n' });
      expect(net.authorizations()).toEqual([`Bearer ${SECRET}`]);
      await client.destroy(id);
    });

    it('gives sandboxes without credentials nothing to trust', async () => {
      const { client } = of();
      const { id } = await client.spawn({ egress: { allow: ['api.example.com'] } });
      const run = await client.sh(id, 'env; ls /.svc-trust');
      expect(run.stdout).not.toContain('SSL_CERT_FILE');
      expect(run.exit_code).not.toBe(0);
      const late = await client.call<{ warnings: string[] }>(
        'PUT',
        `/sandboxes/${id}/egress`,
        INTERCEPTED_POLICY,
      );
      expect(late.body.warnings.join()).toContain('http://NAME.svc.internal alone');
      await client.destroy(id);
    });
  });
});

const elsewhere =
  (isGate: boolean) =>
  ({ env }: Runtime) => {
    const of = world(() => env);

    it('adds the header in TLS of programs, whose value neither they nor answers hold', async () => {
      const { client, net, server } = of();
      const id = await showsInterception(client, net, isGate);
      await holdsNoByteOf(client, id, SECRET);
      await answersNoByteOf(client, id, SECRET);
      await client.destroy(id);
      const log = server.log();
      expect([SECRET, ...encodedForms(SECRET)].filter((form) => log.includes(form))).toEqual([]);
    }, 480_000);
  };

inContainers(['runc'], { needs: ['python3-testsuite', 'openssl'], name: 'interception' }, elsewhere(false));
inMachine(['python3-testsuite', 'openssl'], 'interception', elsewhere(true));
