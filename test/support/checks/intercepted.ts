// What sandboxes of every kind show of credentials in TLS of their own programs.
import { X509Certificate } from 'node:crypto';
import { expect } from 'vitest';
import type { EgressLogLine } from '../../../src/schema/egress.ts';
import type { EgressNetwork } from '../hosts/egress-network.ts';
import type { Api } from '../servers/api.ts';

export const SECRET = 'sk-canary-0123456789abcdef0123';
export const INTERCEPTED_NAMES = Object.fromEntries(
  ['api', 'other', 'git', 'pypi', 'wrong'].map((name) => [`${name}.example.com`, ['93.184.216.34']]),
);
const HOSTS = ['api', 'git', 'pypi', 'wrong'].map((name) => `${name}.example.com`);
export const INTERCEPTED_POLICY = {
  allow: [...HOSTS, 'other.example.com'],
  credentials: [{ name: 'own', hosts: HOSTS, format: 'Bearer {value}', value: SECRET }],
};

const python = (code: string) => `/usr/bin/python3 - <<'E'\n${code}\nE`;

const GET = `
import urllib.request as r, urllib.error as e
def get(url):
    try: return r.urlopen(r.Request(url, headers={'Authorization': 'mine', 'X-More': '1'}), timeout=20)
    except e.HTTPError as error: return error
a = get('https://api.example.com/hello.txt?q=1')
print(a.status, a.read().decode(), end='')
p = get('http://own.svc.internal/hello.txt?endpoint')
print(p.status, p.read().decode(), end='')
w = get('https://wrong.example.com/hello.txt')
print(w.status, w.headers['x-svc-egress'])
`;
const SEEN = `
import ssl
for name in ('api', 'other'): print(ssl.get_server_certificate((name + '.example.com', 443)))
`;

/** Spawns a sandbox, and leaves it running. `isGate`: its programs need no proxy. */
export async function showsInterception(client: Api, net: EgressNetwork, isGate: boolean): Promise<string> {
  const { id } = await client.spawn({ egress: INTERCEPTED_POLICY });
  expect((await client.sh(id, 'echo $SSL_CERT_FILE')).stdout).toBe('/.svc-trust/roots.pem\n');
  net.clear();
  expect(await client.sh(id, python(GET), { timeout: '1m' })).toMatchObject({
    exit_code: 0,
    stdout: '200 hello\n200 hello\n502 tls_failed\n',
  });
  expect(net.requests()).toEqual(['api.example.com/hello.txt?q=1', 'api.example.com/hello.txt?endpoint']);
  expect(net.authorizations()).toEqual([`Bearer ${SECRET}`, `Bearer ${SECRET}`]);
  const { body: log } = await client.call<EgressLogLine[]>('GET', `/sandboxes/${id}/egress/log`);
  const how = isGate ? 'gate' : 'connect';
  const line = { how, credential: 'own', method: 'GET', path: '/hello.txt' };
  expect(log).toContainEqual(expect.objectContaining({ ...line, host: 'api.example.com', status: 200 }));
  // The target is connected during the handshake of the program, so this fails before its request is read.
  expect(log.filter(({ host }) => host === 'wrong.example.com')).toEqual([
    expect.objectContaining({ ...line, decision: 'failed', reason: 'tls_failed' }),
  ]);
  if (isGate) await endsTlsOnlyThere(client, id);
  const { warnings } = (await client.call<{ warnings: string[] }>('GET', `/sandboxes/${id}/egress`)).body;
  expect(warnings.filter((text) => text.includes('svc.internal'))).toEqual([]);
  return id;
}

/** Only the host with a credential has a certificate of the server. */
async function endsTlsOnlyThere(client: Api, id: string): Promise<void> {
  const { stdout } = await client.sh(id, python(SEEN), { timeout: '1m' });
  const [own, other] = stdout
    .split(/(?<=-----END CERTIFICATE-----)/)
    .slice(0, 2)
    .map((pem) => new X509Certificate(pem).issuer);
  expect(own).toMatch(/^CN=svc [0-9a-f]{8} 1$/);
  expect(other).not.toMatch(/svc/);
}
