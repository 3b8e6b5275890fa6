// What sandboxes of every kind show of credentials in TLS of their own programs.
import { X509Certificate } from 'node:crypto';
import { expect } from 'vitest';
import { encodedForms } from '../../../src/redact/encoded-forms.ts';
import type { EgressLogLine } from '../../../src/schema/egress.ts';
import { type EgressNetwork, egressKey } from '../hosts/egress-network.ts';
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

/** Counts bytes of a text, given reversed so that this program does not hold it, in all memory that may be read here, under ptrace, too. */
const SEARCHED = `
import ctypes, glob, os, signal, sys
wanted = sys.argv[1][::-1].encode()
libc = ctypes.CDLL(None, use_errno=True)
ATTACH, DETACH = 16, 17
read = found = 0
def search(pid):
    global read, found
    with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as memory:
        for line in maps:
            ends, rights = line.split()[:2]
            if rights[0] != 'r' or line.rstrip().endswith(('[vvar]', '[vsyscall]')): continue
            first, last = (int(end, 16) for end in ends.split('-'))
            try:
                memory.seek(first)
                part = memory.read(min(last - first, 1 << 26))
            except (OSError, ValueError, OverflowError): continue
            read += len(part)
            if pid != os.getpid(): found += part.count(wanted)
for path in glob.glob('/proc/[0-9]*'):
    pid = int(path[6:])
    traced = pid != os.getpid() and libc.ptrace(ATTACH, pid, None, None) == 0
    if traced: os.waitpid(pid, 0x40000000)
    try: search(pid)
    except OSError: pass
    if traced: libc.ptrace(DETACH, pid, None, None)
print(found, read > 1 << 20)
`;

/** No process of the sandbox holds `secret` in its memory, and the search finds what a program does hold. */
export async function holdsNoByteOf(client: Api, id: string, secret: string): Promise<void> {
  const search = (text: string) => `/usr/bin/python3 - ${[...text].reverse().join('')} <<'E'\n${SEARCHED}\nE`;
  const held = 'a-text-that-a-program-holds';
  await client.sh(id, `setsid sh -c ': ${held}; sleep 300' >/dev/null 2>&1 </dev/null &`);
  const known = await client.sh(id, search(held), { timeout: '2m' });
  expect(known.stdout).toMatch(/^[1-9]\d* True\n$/);
  expect(await client.sh(id, search(secret), { timeout: '2m' })).toMatchObject({ stdout: '0 True\n' });
}

/** No answer of the service has `secret`. The feed of events ends only where it is told to. */
export async function answersNoByteOf(client: Api, id: string, secret: string): Promise<void> {
  const headers = { 'x-admin-api-key': `${egressKey['x-api-key']}-admin` };
  const own = ['', '/egress', '/egress/log', '/egress/suggest', '/execs'].map(
    (path) => `/sandboxes/${id}${path}`,
  );
  const common = ['/sandboxes', '/events?follow=false&since=0', '/diagnostics', '/metrics'];
  const admin = ['/admin/diagnostics?logs=true', '/admin/audit', '/admin/egress/credentials'];
  for (const path of [...own, ...common, ...admin]) {
    const answer = await client.raw(path, { headers, signal: AbortSignal.timeout(20_000) });
    const text = await answer.text();
    expect([path, answer.status]).toEqual([path, 200]);
    expect([path, ...[secret, ...encodedForms(secret)].filter((form) => text.includes(form))]).toEqual([
      path,
    ]);
  }
}

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
