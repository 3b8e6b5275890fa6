// Outgoing connections of real sandboxes by policy, with a network around the host in which every address answers.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EgressLogLine } from '../../src/schema/egress.ts';
import { HOSTILE_NAMES, hostileTargets } from '../support/checks/hostile-targets.ts';
import {
  type EgressNetwork,
  egressKey,
  egressNetwork,
  OWN_HIDDEN,
  OWN_PUBLIC,
} from '../support/hosts/egress-network.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { endInNetwork } from '../support/servers/egress-end.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, packageRoot, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const PUBLIC = '93.184.216.34';
const ATTEMPTS = readFileSync(join(packageRoot, 'test/support/checks/egress-attempts.py'), 'utf8');
const CA = '/workspace/ca.pem';
const TRUST = Object.fromEntries(
  [
    'CURL_CA_BUNDLE',
    'SSL_CERT_FILE',
    'PIP_CERT',
    'GIT_SSL_CAINFO',
    'NODE_EXTRA_CA_CERTS',
    'npm_config_cafile',
  ].map((name) => [name, CA]),
);
/** Opens as much as a policy can. */
const WIDE = { default: 'allow', allow: ['0.0.0.0/0:*', '[::/0]:*', '*:*'], max_connections: 192 };

interface Attempt {
  way: 'connect' | 'http' | 'socks' | 'socks-name' | 'tls' | 'direct';
  host: string;
  port: number;
  sni?: string;
  header?: string;
}

for (const runner of ['bwrap', 'unshare'] as const)
  describeWith(['root', runner, 'python3', 'openssl'], `egress of userspace sandboxes [${runner}]`, () => {
    let net: EgressNetwork;
    let server: TestServer;
    let client: Api;

    const start = async (home?: string) => {
      const env = { ...net.launch.env, SVC_PROVIDERS_USERSPACE_RUNNER: runner };
      server = await startServer({ ...net.launch, env, ...(home !== undefined && { home }) });
      client = api(server.url, egressKey);
    };
    const spawned = async (egress: object, more: object = {}) => {
      const { id } = await client.spawn({ egress: { mode: 'proxy', ...egress }, env: TRUST, ...more });
      const written = await client.call('PUT', `/sandboxes/${id}/files${CA}`, { content: net.ca });
      expect(written.status).toBe(200);
      return id;
    };
    const attempts = async (id: string, list: Attempt[]): Promise<string[]> => {
      await client.call('PUT', `/sandboxes/${id}/files/workspace/attempts.py`, { content: ATTEMPTS });
      await client.call('PUT', `/sandboxes/${id}/files/workspace/list`, { content: JSON.stringify(list) });
      const run = await client.sh(id, '/usr/bin/python3 attempts.py < list', { timeout: '4m' });
      expect(run.stderr).toBe('');
      return JSON.parse(run.stdout);
    };
    const log = async (id: string) =>
      (await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log?limit=1000`)).body;

    beforeAll(async () => {
      net = await egressNetwork(cli, () => ({
        'api.example.com': [PUBLIC],
        'other.example.com': ['93.184.216.35'],
        'registry.example.com': ['93.184.216.36'],
        'pypi.example.com': ['93.184.216.37'],
        'git.example.com': ['93.184.216.38'],
        'both.example.com': ['127.0.0.1', '93.184.216.39', '10.0.0.5'],
        'rebind.example.com': [['93.184.216.40'], ['127.0.0.1']],
        'elsewhere.example.com': ['127.0.0.1'],
        ...HOSTILE_NAMES,
      }));
      await start();
    });
    beforeEach(() => net.clear());
    afterAll(async () => expect(await endInNetwork(server, net)).toBe(0));

    it.each([
      [
        'curl',
        'curl -sS https://api.example.com/hello.txt http://api.example.com/hello.txt',
        'hello\nhello\n',
      ],
      [
        'curl by SOCKS',
        'curl -sS --proxy socks5h://127.0.0.1:7424 https://api.example.com/hello.txt',
        'hello\n',
      ],
      [
        'wget',
        `wget -qO- --ca-certificate=${CA} https://api.example.com/hello.txt http://api.example.com/hello.txt`,
        'hello\nhello\n',
      ],
      [
        'pip',
        '/usr/bin/python3 -m pip -q --disable-pip-version-check install --no-cache-dir --target=lib --index-url https://pypi.example.com/simple demo 2>&1; PYTHONPATH=lib /usr/bin/python3 -m demo',
        'hello from demo\n',
      ],
      [
        'npm',
        '/usr/bin/npm pack --silent --registry=https://registry.example.com/ demo-npm && tar xzOf demo-npm-1.0.0.tgz package/package.json',
        'demo-npm-1.0.0.tgz\n{"name": "demo-npm", "version": "1.0.0"}',
      ],
      ['git', 'git clone -q https://git.example.com/repo.git && cat repo/README', 'hello from git\n'],
      [
        'urllib of Python',
        `/usr/bin/python3 -c "import urllib.request as r; print(r.urlopen('https://api.example.com/hello.txt').read().decode(), end='')"`,
        'hello\n',
      ],
    ])(
      'lets %s reach allowed names by the variables, with verified certificates',
      async (_, command, prints) => {
        const allow = ['api', 'registry', 'pypi', 'git'].map((name) => `${name}.example.com`);
        const id = await spawned({ allow });
        const run = await client.sh(id, `export HOME=/workspace; ${command}`, { timeout: '2m' });
        expect(run).toMatchObject({ exit_code: 0, stdout: prints });
        expect(net.reached().every((each) => each.startsWith('outside 93.184.216.3'))).toBe(true);
        await client.destroy(id);
      },
    );

    it('denies by default, without a look-up, and says why', async () => {
      const id = await spawned({ allow: ['api.example.com'] });
      const answers = await attempts(id, [
        { way: 'connect', host: 'secret-data.other.example.com', port: 443 },
        { way: 'http', host: 'other.example.com', port: 80 },
        { way: 'socks', host: 'other.example.com', port: 443 },
        { way: 'connect', host: 'api.example.com', port: 2222 },
        { way: 'direct', host: PUBLIC, port: 80 },
        { way: 'direct', host: 'api.example.com', port: 80 },
      ]);
      expect(answers[0]).toMatch(/^HTTP\/1\.1 403 .*x-svc-egress: not_allowed/s);
      expect(answers[1]).toMatch(/^HTTP\/1\.1 403 .*x-svc-egress: not_allowed/s);
      expect(answers[2]).toBe('socks 02');
      expect(answers[3]).toContain('x-svc-egress: port_not_allowed');
      expect(answers[4]).toMatch(/^failed: /);
      expect(answers[5]).toMatch(/^failed: /);
      expect([net.reached(), net.lookups()]).toEqual([[], []]);
      expect((await log(id)).map(({ decision, host }) => `${decision} ${host}`)).toEqual([
        'denied secret-data.other.example.com',
        'denied other.example.com',
        'denied other.example.com',
        'denied api.example.com',
      ]);
      await client.destroy(id);
    });

    it('leads to none of the hostile addresses, whatever the policy allows', async () => {
      const id = await spawned(WIDE);
      const control = await attempts(
        id,
        (['connect', 'http', 'socks', 'socks-name', 'tls'] as const).map((way) => ({
          way,
          host: PUBLIC,
          port: way === 'tls' ? 443 : 80,
        })),
      );
      expect(control.map((answer) => answer.slice(0, 12))).toEqual([
        ...['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200', 'socks 00', 'HTTP/1.1 200'],
      ]);
      // The one by SOCKS with the text of an address sent nothing further.
      expect(net.reached()).toHaveLength(4);
      net.clear();
      const targets = hostileTargets([net.address, 'fd77::2', OWN_PUBLIC, ...OWN_HIDDEN]);
      const list = targets.flatMap((host): Attempt[] =>
        (['connect', 'http', 'socks', 'socks-name'] as const)
          .map((way): Attempt => ({ way, host, port: 80 }))
          .concat({ way: 'tls', host, port: 443 }, { way: 'connect', host, port: 7424 }),
      );
      const answers = await attempts(id, list);
      const passed = list.filter((_, at) => /^HTTP\/1\.[01] 200|^socks 00/.test(answers[at] ?? ''));
      expect(passed).toEqual([]);
      expect(net.reached()).toEqual([]);
      expect(answers).toHaveLength(targets.length * 6);
      await client.destroy(id);
    });

    it('follows no redirect, answer or other name to what it refuses', async () => {
      const id = await spawned({ ...WIDE, deny: ['other.example.com'] });
      const redirected = await client.sh(
        id,
        [
          'http://169.254.169.254/',
          'http://127.0.0.1/',
          'http://elsewhere.example.com/',
          'http://other.example.com/',
        ]
          .map(
            (to) =>
              `curl -sSL --noproxy '' -o /dev/null -w '%{http_code} ' 'http://api.example.com/redirect?to=${to}'`,
          )
          .join(';'),
      );
      expect(redirected.stdout).toBe('403 403 403 403 ');
      expect(net.reached()).toEqual(Array.from({ length: 4 }, () => `outside ${PUBLIC}:80`));
      net.clear();
      const answers = await attempts(id, [
        { way: 'connect', host: 'both.example.com', port: 80 },
        ...Array.from({ length: 4 }, (): Attempt => ({ way: 'http', host: 'rebind.example.com', port: 80 })),
        { way: 'http', host: 'api.example.com', port: 80, header: 'other.example.com' },
        { way: 'tls', host: 'api.example.com', port: 443, sni: 'other.example.com' },
        { way: 'tls', host: 'api.example.com', port: 443, sni: 'api.example.com' },
      ]);
      expect(answers.slice(0, 5).every((answer) => answer.startsWith('HTTP/1.1 200'))).toBe(true);
      expect(answers[5]).toContain('x-svc-egress: host_mismatch');
      expect(answers[6]).toMatch(/^failed: .*access denied/i);
      expect(answers[7]).toMatch(/^HTTP\/1\.1 200/);
      expect(net.reached().filter((each) => each.startsWith('host'))).toEqual([]);
      expect(new Set(net.reached())).toEqual(
        new Set(['93.184.216.39:80', '93.184.216.40:80', `${PUBLIC}:443`].map((each) => `outside ${each}`)),
      );
      expect(net.requests().filter((each) => each.startsWith('other'))).toEqual([]);
      expect(net.lookups().filter((name) => name === 'rebind.example.com')).toHaveLength(2);
      await client.destroy(id);
    });

    it('applies a changed policy at once, to open connections too', async () => {
      const id = await spawned({ allow: ['api.example.com:2222', 'api.example.com'] });
      const command = `/usr/bin/python3 -c "
import socket
s = socket.create_connection(('127.0.0.1', 7424))
s.sendall(b'CONNECT api.example.com:2222 HTTP/1.1\\r\\nHost: api.example.com:2222\\r\\n\\r\\n')
f = s.makefile('rb')
for line in f:
    print(line.strip().decode(), flush=True)
print('ended')
"`;
      const running = client.sh(id, command).catch(String);
      await until('the connection outside', () => net.reached().length > 0);
      const changed = await client.call('PUT', `/sandboxes/${id}/egress`, { allow: ['other.example.com'] });
      expect(changed).toMatchObject({ status: 200, body: { counters: { open: 0 } } });
      expect(JSON.stringify(await running)).toMatch(/SSH-2.0-demo|Connection reset|ended/);
      const tried = await client.sh(
        id,
        'curl -sS http://api.example.com/hello.txt http://other.example.com/hello.txt',
      );
      expect(tried.stdout).toMatch(/^api\.example\.com:80 is not allowed.*\nhello\n$/);
      expect((await log(id)).map(({ reason }) => reason)).toEqual([
        'policy_changed',
        'not_allowed',
        'rule_allow',
      ]);
      await client.destroy(id);
    });

    it('closes with the server, and opens again with it, under the stored policy', async () => {
      const id = await spawned({ allow: ['api.example.com'] });
      await client.sh(
        id,
        'setsid sh -c "while :; do curl -sS -m 5 http://api.example.com/hello.txt http://other.example.com/hello.txt; sleep 0.05; done" >/dev/null 2>&1 </dev/null &',
      );
      await until('a request', () => net.requests().length > 0);
      await server.kill();
      net.clear();
      const ended = net.reached().length;
      await start(server.home);
      expect(ended).toBe(0);
      await until('a request after the start', () => net.requests().length > 0);
      expect(new Set(net.requests())).toEqual(new Set(['api.example.com/hello.txt']));
      await client.destroy(id);
      net.clear();
      const after = await client.call('GET', `/sandboxes/${id}/egress`);
      expect(after.status).toBe(404);
      expect(net.reached()).toEqual([]);
    });

    it('is used by the command line', async () => {
      const env = { SVC_SERVER: server.url, SVC_API_KEY: egressKey['x-api-key'] };
      const svc = async (...args: string[]) => runCli(args, env);
      const once = ['--allow', 'api.example.com', '--', 'curl', '-sS', 'http://api.example.com/hello.txt'];
      expect(await svc('sandbox', 'run', ...once)).toMatchObject({ code: 0, stdout: 'hello\n' });
      const failed = async (host: string) => {
        const elsewhere = ['api', 'private', 'absent'].flatMap((name) => ['--allow', `${name}.example.com`]);
        const { code, stderr } = await svc(
          'sandbox',
          'run',
          ...elsewhere,
          '--',
          'curl',
          '-s',
          `https://${host}/`,
        );
        expect(code).not.toBe(0);
        return stderr;
      };
      expect(await failed('other.example.com')).toContain(
        'refused: other.example.com:443 is not allowed by the egress policy of this sandbox.\nTry: Allow it with --allow HOST.\n',
      );
      expect(await failed('private.example.com')).toMatch(
        /leads to a private address.*\nTry: .*private_names/,
      );
      expect(await failed('absent.example.com')).toContain(
        'failed: absent.example.com:443 has no address.\n',
      );
      const id = await spawned({ allow: ['api.example.com'] });
      await client.sh(id, 'curl -s http://api.example.com/hello.txt http://other.example.com/hello.txt');
      const shown = await svc('egress', 'log', id);
      expect(shown.stdout).toMatch(
        /allowed api\.example\.com:80 rule_allow by api\.example\.com \(spawn\)\n.* denied other\.example\.com:80 not_allowed \(spawn\)\n$/,
      );
      expect((await svc('egress', 'log', id, '--denied')).stdout.split('\n')).toHaveLength(2);
      expect((await svc('egress', 'check', id, 'other.example.com:443')).stdout).toMatch(
        /denied.*not_allowed/s,
      );
      expect((await svc('egress', 'check', id, 'api.example.com:443')).stdout).toContain(PUBLIC);
      expect((await svc('egress', 'suggest', id)).stdout).toBe(
        'egress:\n  allow:\n    - "api.example.com"\n    - "other.example.com"\n',
      );
      expect((await svc('egress', 'groups')).stdout).toContain('@packages');
      expect((await svc('sandbox', 'egress', id, '--allow', 'other.example.com')).code).toBe(0);
      expect((await svc('sandbox', 'egress', id)).stdout).toContain('other.example.com');
      await client.destroy(id);
    });

    it('refuses what it cannot hold', async () => {
      const asked = async (request: object) => {
        const { status, body } = await client.call<{ message: string }>('POST', '/sandboxes', request);
        return `${status} ${JSON.stringify(body)}`;
      };
      expect(await asked({ egress: {}, network: 'none' })).toMatch(/^400 /);
      expect(await asked({ egress: { allow: ['*.com'] } })).toMatch(/^400 .*top-level domain/);
      expect(await asked({ egress: { allow: ['@nothing'] } })).toMatch(/^400 .*unknown group/);
      expect(await asked({ egress: { allow: ['x.svc.internal'] } })).toMatch(/^400 /);
      expect(await asked({ egress: {}, worker_id: 'w1' })).toMatch(/^501 .*workers/);
    });
  });
