// Images and why they cannot be had, in our words; and the archive that brings the agent.
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { EngineRefusal } from '../../../../src/providers/container/engine-faults.ts';
import { pullFailed } from '../../../../src/providers/container/pull.ts';
import { startFault } from '../../../../src/providers/container/start-faults.ts';
import { firstFile, tarOf } from '../../../../src/providers/container/tar.ts';

it('names an image whose layers do not fit on the disk', () => {
  const full = new EngineRefusal('pull an image', 200, 'write /var/lib/x: no space left on device');
  expect(pullFailed('team/app:1', full)).toMatchObject({
    ...{ code: 'provider_error', message: expect.stringMatching(/team\/app:1 does not fit/), cause: full },
  });
});

it('separates failed starts that may be retried from the others', () => {
  const refusal = (words: string) => startFault(new EngineRefusal('start', 500, words));
  const runc = 'exec: "/.svc/svc-agent": stat /.svc/svc-agent: no such file or directory';
  expect(refusal(runc)).toMatchObject({ name: 'PartMissing' });
  expect(refusal('network svc not found')).toMatchObject({ name: 'PartMissing', part: 'network' });
  expect(refusal('No such image: sha256:0123')).toMatchObject({ name: 'PartMissing', part: 'image' });
  expect(refusal('unknown or invalid runtime name: x')).toMatchObject({
    ...{ code: 'provider_error', remedy: expect.stringContaining('container.runtime') },
  });
  expect(refusal('/secret/path')).toMatchObject({ message: expect.not.stringContaining('secret') });
});

it('writes archives that tar reads, and reads its own', () => {
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
  'stops at a header whose size is %s',
  (size) => {
    const folder = tarOf({ path: 'a/b', bytes: Buffer.from('x'), mode: 0o755 });
    folder.write(size.padEnd(12, '\0'), 124, 'latin1');
    expect(firstFile(folder)).toBeUndefined();
  },
);
