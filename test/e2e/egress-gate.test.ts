// Programs that know no proxy, unchanged and without variables, through the transparent gate of real userspace sandboxes. Every
// address around the host answers, so whatever gets out is noted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { EgressLogLine, EgressStatus } from '../../src/schema/egress.ts';
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
import { cli, packageRoot, startServer, type TestServer } from '../support/servers/server.ts';

const PUBLIC = '93.184.216.34';
const ATTEMPTS = readFileSync(join(packageRoot, 'test/support/checks/gate-attempts.py'), 'utf8');
const CA = '/workspace/ca.pem';
const TRUST = Object.fromEntries(
  [
    ...['CURL_CA_BUNDLE', 'SSL_CERT_FILE', 'PIP_CERT', 'GIT_SSL_CAINFO'],
    ...['NODE_EXTRA_CA_CERTS', 'npm_config_cafile'],
  ].map((name) => [name, CA]),
);
/** Opens as much as a policy can. */
const WIDE = {
  ...{ default: 'allow', allow: ['0.0.0.0/0:*', '[::/0]:*', '*:*'], max_connections: 192 },
  ports: [53, 80, 443, 2222],
};

const python = (code: string) => `/usr/bin/python3 -c "${code}"`;
const node = (code: string) => `/usr/bin/node -e "${code}"`;
const HELLO = 'https://api.example.com/hello.txt';
const CLIENTS: readonly (readonly [string, string, string])[] = [
  ['curl', `curl -sS ${HELLO} http://api.example.com/hello.txt`, 'hello\nhello\n'],
  ['curl with an address', `curl -sS http://${PUBLIC}/hello.txt`, 'hello\n'],
  ['wget', `wget -qO- --ca-certificate=${CA} ${HELLO} http://api.example.com/hello.txt`, 'hello\nhello\n'],
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
    'apt',
    `mkdir -p apt/lists apt/cache; echo 'deb [trusted=yes] http://api.example.com/apt ./' > apt/list
     O="-o Dir::Etc::SourceList=/workspace/apt/list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=/workspace/apt/lists -o Dir::Cache=/workspace/apt/cache -o Dir::State::status=/dev/null"
     apt-get $O -qq update >&2; apt-cache $O show demo-apt | grep Version`,
    'Version: 1.0\n',
  ],
  [
    'urllib of Python',
    python(`import urllib.request as r; print(r.urlopen('${HELLO}').read().decode(), end='')`),
    'hello\n',
  ],
  [
    'http.client of Python',
    python(
      "import http.client as h; c = h.HTTPSConnection('api.example.com'); c.request('GET', '/hello.txt'); print(c.getresponse().read().decode(), end='')",
    ),
    'hello\n',
  ],
  [
    'fetch of Node.js',
    node(`fetch('${HELLO}').then((a) => a.text()).then((t) => process.stdout.write(t))`),
    'hello\n',
  ],
  ['https of Node.js', node(`require('https').get('${HELLO}', (a) => a.pipe(process.stdout))`), 'hello\n'],
  [
    'URL of Java',
    `cat > Get.java <<'E'
public class Get { public static void main(String[] a) throws Exception {
  try (var in = new java.net.URL("http://api.example.com/hello.txt").openStream()) { in.transferTo(System.out); } } }
E
java -XX:TieredStopAtLevel=1 Get.java`,
    'hello\n',
  ],
  [
    'a socket',
    python(
      "import socket; s = socket.create_connection(('api.example.com', 2222)); print(s.makefile().readline(), end='')",
    ),
    'SSH-2.0-demo\n',
  ],
];

for (const runner of ['bwrap', 'unshare'] as const)
  describeWith(['root', runner, 'python3', 'openssl'], `the transparent gate [${runner}]`, () => {
    let net: EgressNetwork;
    let server: TestServer;
    let client: Api;

    const spawned = async (egress: object) => {
      const { id, egress: summary } = await client.spawn({ egress: { mode: 'gate', ...egress }, env: TRUST });
      expect(summary?.mode).toBe('gate');
      const written = await client.call('PUT', `/sandboxes/${id}/files${CA}`, { content: net.ca });
      expect(written.status).toBe(200);
      return id;
    };
    const attempts = async (id: string, list: object[]): Promise<string[]> => {
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
      const env = { ...net.launch.env, SVC_PROVIDERS_USERSPACE_RUNNER: runner };
      server = await startServer({ ...net.launch, env });
      client = api(server.url, egressKey);
    });
    beforeEach(() => net.clear());
    afterAll(async () => expect(await endInNetwork(server, net)).toBe(0));

    it.each(CLIENTS)('lets %s reach what the policy allows', async (_, command, prints) => {
      const allow = [...['api', 'registry', 'pypi', 'git'].map((name) => `${name}.example.com`), PUBLIC];
      const id = await spawned({ allow: [...allow, 'api.example.com:2222'] });
      const run = await client.sh(id, `export HOME=/workspace; env | grep -i _proxy; ${command}`, {
        timeout: '2m',
      });
      expect(run).toMatchObject({ exit_code: 0, stdout: prints });
      expect(net.reached().every((each) => each.startsWith('outside 93.184.216.3'))).toBe(true);
      await client.destroy(id);
    });

    it('denies by default, without a question outside, and says why', async () => {
      const id = await spawned({ allow: ['api.example.com'] });
      const answers = await attempts(id, [
        { way: 'http', host: 'secret-data.other.example.com', port: 80 },
        {
          way: 'tls',
          host: 'secret-data.other.example.com',
          port: 443,
          sni: 'secret-data.other.example.com',
        },
        { way: 'line', host: 'api.example.com', port: 2222 },
        { way: 'http', host: 'no-such-name.example.com', port: 80 },
      ]);
      expect(answers[0]).toMatch(/^HTTP\/1\.1 403 .*x-svc-egress: not_allowed/s);
      expect(answers[1]).toMatch(/^failed: .*access denied/i);
      expect(answers[2]).toMatch(/^failed: .*refused/);
      expect(answers[3]).toMatch(/x-svc-egress: not_allowed/);
      expect([net.reached(), net.lookups()]).toEqual([[], []]);
      expect(await log(id)).toMatchObject([
        ...[80, 443].map((port) => ({
          decision: 'denied',
          host: 'secret-data.other.example.com',
          port,
          how: 'gate',
        })),
        { decision: 'denied', host: 'no-such-name.example.com', how: 'gate', uid: expect.any(Number) },
      ]);
      await client.destroy(id);
    });

    it('leads to none of the hostile addresses, whatever the policy allows', async () => {
      const id = await spawned(WIDE);
      const control = await attempts(id, [
        { way: 'http', host: PUBLIC, port: 80 },
        { way: 'tls', host: PUBLIC, port: 443 },
        { way: 'line', host: 'api.example.com', port: 2222 },
        { way: 'http', host: '2606:2800:220:1::1', port: 80 },
      ]);
      expect(control.map((answer) => answer.slice(0, 12))).toEqual([
        ...['HTTP/1.1 200', 'HTTP/1.1 200', 'SSH-2.0-demo', 'HTTP/1.1 200'],
      ]);
      expect(net.reached()).toEqual(
        [`${PUBLIC}:80`, `${PUBLIC}:443`, `${PUBLIC}:2222`, '2606:2800:220:1::1:80'].map(
          (each) => `outside ${each}`,
        ),
      );
      net.clear();
      const targets = hostileTargets([net.address, 'fd77::2', OWN_PUBLIC, ...OWN_HIDDEN]);
      const list = targets.flatMap((host) => [
        { way: 'http', host, port: 80 },
        { way: 'tls', host, port: 443, sni: host },
        { way: 'line', host, port: 2222 },
      ]);
      const answers = await attempts(id, list);
      expect(list.filter((_, at) => /^HTTP\/1\.[01] 200|^SSH/.test(answers[at] ?? ''))).toEqual([]);
      expect(net.reached()).toEqual([]);
      expect(answers).toHaveLength(targets.length * 3);
      // An address of the link gets its answer like any other.
      const [ofLink] = await attempts(id, [
        { way: 'http', host: 'fe80::1%eth0', port: 80, header: 'fe80::1' },
      ]);
      expect(ofLink).toMatch(/^HTTP\/1\.1 403 .*x-svc-egress: address_link_local/s);
      await client.destroy(id);
    });

    it('follows no redirect, answer or other name to what it refuses', async () => {
      const id = await spawned({ ...WIDE, deny: ['other.example.com'] });
      const redirected = await client.sh(
        id,
        [
          'http://169.254.169.254/',
          'http://10.0.0.5/',
          'http://elsewhere.example.com/',
          'http://other.example.com/',
        ]
          .map((to) => `curl -sSL -o /dev/null -w '%{http_code} ' 'http://api.example.com/redirect?to=${to}'`)
          .join(';'),
      );
      expect(redirected.stdout).toBe('403 403 403 403 ');
      net.clear();
      const answers = await attempts(id, [
        { way: 'http', host: 'both.example.com', port: 80 },
        ...Array.from({ length: 4 }, () => ({ way: 'http', host: 'rebind.example.com', port: 80 })),
        { way: 'http', host: 'api.example.com', port: 80, header: 'other.example.com' },
        { way: 'tls', host: 'api.example.com', port: 443, sni: 'other.example.com' },
        { way: 'tls', host: 'api.example.com', port: 443, sni: 'api.example.com' },
      ]);
      expect(answers.slice(0, 5).every((answer) => answer.startsWith('HTTP/1.1 200'))).toBe(true);
      expect(answers[5]).toContain('x-svc-egress: host_mismatch');
      expect(answers[6]).toMatch(/^failed: .*access denied/i);
      expect(answers[7]).toMatch(/^HTTP\/1\.1 200/);
      expect(new Set(net.reached())).toEqual(
        new Set(['93.184.216.39:80', '93.184.216.40:80', `${PUBLIC}:443`].map((each) => `outside ${each}`)),
      );
      await client.destroy(id);
    });

    it('answers names itself, from every server that is asked, and lets no datagram out', async () => {
      const id = await spawned(WIDE);
      const own = { way: 'dns', host: '198.18.0.1' };
      const answers = await attempts(id, [
        { ...own, name: 'api.example.com' },
        { ...own, name: 'API.Example.COM' },
        { ...own, name: 'other.example.com' },
        { way: 'dns', host: '8.8.8.8', name: 'api.example.com' },
        { way: 'dns', host: '2001:4860:4860::8888', name: 'api.example.com' },
        ...[28, 65, 64, 16].map((kind) => ({ ...own, name: 'api.example.com', kind })),
        { ...own, name: `${'x'.repeat(60)}.${'y'.repeat(60)}.example.com`, kind: 16 },
        { way: 'udp', host: PUBLIC, port: 443 },
        { way: 'udp', host: '2606:2800:220:1::1', port: 53 },
      ]);
      const given = answers[0] ?? '';
      expect(given).toMatch(/^code 0 answers 1 198\.18\.0\.\d+$/);
      expect([answers[1], answers[3], answers[4]]).toEqual([given, given, given]);
      expect(answers[2]).toMatch(/^code 0 answers 1 198\.18\.0\.\d+$/);
      expect(answers[2]).not.toBe(given);
      for (const answer of answers.slice(5, 10)) expect(answer).toMatch(/^code 0 answers 0/);
      expect(answers[10]).toMatch(/^failed: .*refused/);
      expect([net.reached(), net.lookups()]).toEqual([[], []]);
      const address = given.split(' ').at(-1);
      const reverse = await client.sh(id, `getent hosts ${address}; ping -c1 -W1 ${PUBLIC} >&2 || true`);
      expect(reverse.stdout).toContain('api.example.com');
      await client.destroy(id);
    });

    it('opens ports of a changed policy, closes others, and leaves all ports to programs', async () => {
      const id = await spawned({ allow: ['api.example.com'] });
      const line = [{ way: 'line', host: 'api.example.com', port: 2222 }];
      expect((await attempts(id, line))[0]).toMatch(/refused/);
      const wider = { allow: ['api.example.com:2222', 'api.example.com'] };
      const changed = await client.call<EgressStatus>('PUT', `/sandboxes/${id}/egress`, wider);
      expect(changed.body).toMatchObject({ mode: 'gate', ports: [80, 443, 2222], warnings: [] });
      expect(await attempts(id, line)).toEqual(['SSH-2.0-demo\r\n']);
      await client.call('PUT', `/sandboxes/${id}/egress`, { allow: ['api.example.com'] });
      expect((await attempts(id, line))[0]).toMatch(/refused/);
      await client.call('PUT', `/sandboxes/${id}/egress`, wider);
      expect(await attempts(id, line)).toEqual(['SSH-2.0-demo\r\n']);
      const own = await client.sh(
        id,
        python(
          "import socket; s = [socket.create_server(('', port)) for port in (2222, 8443)]; print(len(s))",
        ),
      );
      expect(own.stdout).toBe('2\n');
      const mode = await client.call('PUT', `/sandboxes/${id}/egress`, { mode: 'proxy' });
      expect(mode.status).toBe(409);
      await client.destroy(id);
    });

    it('keeps sandboxes apart, and opens again with the server', async () => {
      const [one, two] = [await spawned(WIDE), await spawned(WIDE)];
      await client.sh(one, 'setsid /usr/bin/python3 -m http.server 8080 >/dev/null 2>&1 </dev/null &');
      const targets = ['198.18.0.2', '198.18.0.1', 'fd00:7376:6367::2'];
      const answers = await attempts(
        two,
        targets.flatMap((host) => [80, 8080].map((port) => ({ way: 'http', host, port }))),
      );
      expect(answers.filter((answer) => answer.includes(' 200 '))).toEqual([]);
      await server.kill();
      const env = { ...net.launch.env, SVC_PROVIDERS_USERSPACE_RUNNER: runner };
      server = await startServer({ ...net.launch, env, home: server.home });
      client = api(server.url, egressKey);
      expect(
        await client.sh(one, 'curl -sS --retry 9 --retry-all-errors http://api.example.com/hello.txt'),
      ).toMatchObject({
        stdout: 'hello\n',
      });
      for (const id of [one, two]) await client.destroy(id);
    });
  });
