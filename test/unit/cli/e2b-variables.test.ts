// What `svc e2b env` prints: never a key, and always something that a shell can take.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { e2bVariables, exportLines } from '../../../src/cli/e2b-variables.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const server = 'http://127.0.0.1:7423/';
const inShell = (lines: string, env: Record<string, string> = {}) =>
  execFileSync('sh', ['-c', `${lines}\necho "$E2B_API_URL $E2B_API_KEY $NO_PROXY"`], { env }).toString();

it('names the server without a slash, and any key where none is set', () => {
  const lines = exportLines(e2bVariables({ server }, {}));
  expect(inShell(lines)).toBe('http://127.0.0.1:7423 e2b_0 127.0.0.1,localhost\n');
  expect(lines).toContain('E2B_MAX_CONNECTIONS=2000');
});

it('lets the shell read the key, and warns of a form that older SDKs refuse', () => {
  const env = { SVC_API_KEY: 'svc_secret' };
  const found = e2bVariables({ server }, env);
  expect(exportLines(found)).not.toContain('svc_secret');
  expect(inShell(exportLines(found), env)).toContain(' svc_secret ');
  expect(found.note).toContain('--format e2b');
  const file = join(temporaryFolder(), "k'ey");
  writeFileSync(file, 'e2b_0123\n');
  const fromFile = e2bVariables({ server, 'api-key-file': file }, {});
  expect(inShell(exportLines(fromFile))).toContain(' e2b_0123 ');
  expect(fromFile.note).toBeUndefined();
});

it('refuses an address that is none', () => {
  expect(() => e2bVariables({ server: 'x; rm -rf /' }, {})).toThrow('not a URL');
});

it('names the listener with TLS, and what to trust', () => {
  const trust = { caFile: '/x y/ca.pem', bundleFile: '/x y/bundle.pem' };
  const tls = { domain: 'e2b.localhost:7443', port: 7443, trust };
  const lines = exportLines(e2bVariables({ server }, {}, tls));
  expect(inShell(`${lines}\necho "$E2B_DOMAIN|$SSL_CERT_FILE|$NODE_EXTRA_CA_CERTS"`)).toBe(
    'e2b.localhost:7443|/x y/bundle.pem|/x y/ca.pem\nhttps://localhost:7443 e2b_0 127.0.0.1,localhost,e2b.localhost\n',
  );
  expect(exportLines(e2bVariables({ server }, {}, { domain: 'b.test', port: 443 }))).not.toContain('CERT');
});
