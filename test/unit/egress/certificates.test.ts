// Certificates, as OpenSSL reads them.
import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createAuthority, createLeaf, leafKey } from '../../../src/egress/certificates.ts';
import { integer, time } from '../../../src/egress/der.ts';
import { realRandom } from '../../../src/host/random.ts';

const DAY_MS = 86_400_000;
const terms = { random: realRandom(), now: Date.parse('2026-01-02T03:04:05Z'), lifeMs: DAY_MS };

it('makes an authority that signs itself, and leaves of exactly one name', () => {
  const authority = { name: 'svc 01234567', ...createAuthority('svc 01234567', terms) };
  const root = new X509Certificate(authority.certificate);
  expect(root).toMatchObject({ ca: true, subject: 'CN=svc 01234567', issuer: 'CN=svc 01234567' });
  expect(root.verify(root.publicKey)).toBe(true);
  expect([root.validFrom, root.validTo]).toEqual(['Jan  2 02:04:05 2026 GMT', 'Jan  3 03:04:05 2026 GMT']);
  const leaf = new X509Certificate(createLeaf('api.example.com', authority, leafKey(), terms));
  expect(leaf).toMatchObject({ ca: false, issuer: 'CN=svc 01234567', keyUsage: ['1.3.6.1.5.5.7.3.1'] });
  expect(leaf.subjectAltName).toBe('DNS:api.example.com');
  expect(leaf.verify(root.publicKey)).toBe(true);
  expect(leaf.checkIssued(root)).toBe(true);
  expect(leaf.checkHost('other.example.com')).toBeUndefined();
});

it('writes the name of a long host as alternative name alone', () => {
  const authority = { name: 'a', ...createAuthority('a', terms) };
  const long = `${'a'.repeat(63)}.example.com`;
  const leaf = new X509Certificate(createLeaf(long, authority, leafKey(), terms));
  expect(leaf).toMatchObject({ subject: 'CN=svc', subjectAltName: `DNS:${long}` });
});

it('binds an authority to names, and signs for several', async () => {
  const openssl = (file: string, leaf: string) =>
    spawnSync('openssl', ['verify', '-CAfile', file, leaf], { encoding: 'utf8' }).stdout;
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificates-'));
  const now = { ...terms, now: Date.now() };
  const authority = { name: 'a', ...createAuthority('a', now, ['e2b.localhost']) };
  const written = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const root = written('ca.pem', authority.certificate);
  const names = ['*.e2b.localhost', 'e2b.localhost'];
  const good = createLeaf(names, authority, leafKey(), now);
  expect(new X509Certificate(good).checkHost('1-sb-a.e2b.localhost')).toBe('*.e2b.localhost');
  expect(openssl(root, written('good.pem', good))).toContain('OK');
  const other = written('other.pem', createLeaf('example.com', authority, leafKey(), now));
  expect(openssl(root, other)).not.toContain('OK');
  rmSync(folder, { recursive: true });
});

it.each([
  ['0000ff', '0202' + '00ff'],
  ['007f', '0201' + '7f'],
  ['0080', '0202' + '0080'],
  ['00', '0201' + '00'],
])('writes the number %s in its shortest form', (given, written) => {
  const bytes = integer(Buffer.from(given, 'hex'));
  expect(bytes.toString('hex')).toBe(written.replace(/^0201/, '0201'));
});

it('writes years from 2050 on with four digits', () => {
  expect(time(Date.parse('2049-12-31T23:59:59Z')).toString('latin1')).toBe('\x17\x0d491231235959Z');
  expect(time(Date.parse('2050-01-01T00:00:00Z')).toString('latin1')).toBe('\x18\x0f20500101000000Z');
});
