// The verdict on KVM: kept for a boot of the machine, unless the trial told nothing.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { realHost } from '../../../../src/host/real-host.ts';
import { chooseAccelerator } from '../../../../src/providers/microvm/accelerator.ts';
import type { MicrovmDeps } from '../../../../src/providers/microvm/deps.ts';
import { QEMU } from '../../../../src/providers/microvm/qemu.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

function machine(run: () => Promise<number>) {
  const host = {
    ...fakeHost({}),
    run: async () => ({ code: await run(), stdout: '', stderr: '' }),
  };
  const deps = { host, config: { accelerator: 'auto' } } as unknown as MicrovmDeps;
  const memoFile = join(temporaryFolder(), 'accelerator.json');
  const trial = { monitor: { path: 'qemu', version: '7.2' }, kernel: 'k', initramfs: 'i', memoFile };
  return { choose: () => chooseAccelerator(deps, QEMU, trial), memoFile };
}

it.each([
  [0, 'kvm'],
  [1, 'emulation'],
])('is kept for a trial that ends with %i', async (code, kind) => {
  const { choose, memoFile } = machine(async () => code);
  expect(await choose()).toBe(kind);
  expect(JSON.parse(readFileSync(memoFile, 'utf8'))).toMatchObject({ kvm: code === 0 });
});

it('is not kept for a trial that was too slow', async () => {
  const answers = [() => Promise.reject(new ServiceError('timeout', 'Too slow.')), async () => 0];
  const { choose, memoFile } = machine(async () => (answers.shift() as () => Promise<number>)());
  expect(await choose()).toBe('emulation');
  expect(existsSync(memoFile)).toBe(false);
  expect(await choose()).toBe('kvm');
});

it('comes from a program that is stopped when it takes too long: that throws', async () => {
  const slow = realHost('/usr/bin:/bin').run('/bin/sleep', ['60'], { timeoutMs: 50 });
  await expect(slow).rejects.toBeInstanceOf(ServiceError);
});
