// Images and why they cannot be had, in our words; and the archive that brings the agent.
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { EngineRefusal } from '../../../../src/providers/container/engine-faults.ts';
import { pullFailed, withTag } from '../../../../src/providers/container/pull.ts';
import { startFault } from '../../../../src/providers/container/start-faults.ts';
import { firstFile, tarOf } from '../../../../src/providers/container/tar.ts';

it.each([
  ['alpine', 'alpine:latest'],
  ['alpine:3', 'alpine:3'],
  ['registry.example:5000/team/app', 'registry.example:5000/team/app:latest'],
  ['app@sha256:00ff', 'app@sha256:00ff'],
])('%s is pulled as %s', (reference, pulled) => {
  expect(withTag(reference)).toBe(pulled);
});

it.each([
  ['dial tcp: lookup registry.example on 10.0.0.1:53: no such host', 'cannot be reached'],
  ['net/http: request canceled while waiting for connection (Client.Timeout exceeded)', 'cannot be reached'],
  ['manifest for alpine:9 not found: manifest unknown', 'has no such image'],
  ['pull access denied for x, repository does not exist or may require docker login', 'refuses'],
  ['toomanyrequests: You have reached your pull rate limit', 'limits pulls'],
  ['write /var/lib/x: no space left on device', 'disk of the engine is full'],
  ['x509: certificate signed by unknown authority', 'not trusted'],
  ['something else', 'could not pull it'],
])('%s', (words, reason) => {
  const error = pullFailed('team/app:1', words);
  expect(error).toMatchObject({ code: 'provider_error' });
  expect(error.message).toContain('team/app:1');
  expect(error.message).toContain(reason);
  expect(error.message).not.toContain(words);
});

it('tells starts that may work again from those that will not', () => {
  const refusal = (words: string) => startFault(new EngineRefusal('start', 500, words));
  const runc = 'exec: "/.svc/svc-agent": stat /.svc/svc-agent: no such file or directory';
  expect(refusal(runc)).toMatchObject({ name: 'PartMissing' });
  expect(refusal('network svc not found')).toMatchObject({ name: 'PartMissing' });
  expect(refusal('unknown or invalid runtime name: x')).toMatchObject({
    ...{ code: 'provider_error', remedy: expect.stringContaining('container.runtime') },
  });
  expect(refusal('/secret/path')).toMatchObject({ message: expect.not.stringContaining('secret') });
});

it('writes archives that tar reads, and reads them', () => {
  const bytes = Buffer.from('agent'.repeat(1000));
  const archive = tarOf({ path: 'folder/svc-agent', bytes, mode: 0o755 });
  const listed = execFileSync('tar', ['-tv'], { input: archive, encoding: 'utf8' });
  expect(listed).toMatch(/^drwxr-xr-x .*folder\/\n-rwxr-xr-x .* 5000 .*folder\/svc-agent\n$/);
  expect(execFileSync('tar', ['-xO'], { input: archive })).toEqual(bytes);
  expect(firstFile(archive)).toEqual(bytes);
  expect(firstFile(archive.subarray(0, 2000))).toBeUndefined();
  expect(firstFile(Buffer.alloc(1024))).toBeUndefined();
});

it.each(['-1000', '-7777777777', '1e9', '0x200', 'Infinity', '12 34', '8'])(
  'ends at a header whose size is %s',
  (size) => {
    const folder = tarOf({ path: 'a/b', bytes: Buffer.from('x'), mode: 0o755 });
    folder.write(size.padEnd(12, '\0'), 124, 'latin1');
    expect(firstFile(folder)).toBeUndefined();
  },
);
