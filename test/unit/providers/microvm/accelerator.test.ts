// The verdict on KVM: kept for an hour of a monitor, a kernel and a boot of the machine, unless the trial told nothing.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { realHost } from '../../../../src/host/real-host.ts';
import { acceleratorSource, chooseAccelerator } from '../../../../src/providers/microvm/accelerator.ts';
import type { MicrovmDeps } from '../../../../src/providers/microvm/folders.ts';
import { QEMU } from '../../../../src/providers/microvm/qemu.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const HOUR_MS = 3_600_000;

function machine(run: () => Promise<number>) {
  const host = {
    ...fakeHost({}),
    run: async () => ({ code: await run(), stdout: '', stderr: '' }),
  };
  const clock = fakeClock();
  const folder = temporaryFolder();
  const [memoFile, path] = [join(folder, 'accelerator.json'), join(folder, 'qemu')];
  writeFileSync(path, 'a program');
  const deps = { host, clock, config: { accelerator: 'auto' } } as unknown as MicrovmDeps;
  const trial = { monitor: { path, version: '7.2' }, kernel: 'k', initramfs: 'i', memoFile };
  return { choose: () => chooseAccelerator(deps, QEMU, trial), deps, trial, clock, memoFile };
}

it.each([
  [0, 'kvm'],
  [1, 'emulation'],
])('is cached for a trial that ends with %i', async (code, kind) => {
  const { choose, memoFile } = machine(async () => code);
  expect(await choose()).toBe(kind);
  expect(JSON.parse(readFileSync(memoFile, 'utf8'))).toMatchObject({ kvm: code === 0 });
});

it('is not cached for a trial that was too slow', async () => {
  const answers = [() => Promise.reject(new ServiceError('timeout', 'Too slow.')), async () => 0];
  const { choose, memoFile } = machine(async () => (answers.shift() as () => Promise<number>)());
  expect(await choose()).toBe('emulation');
  expect(existsSync(memoFile)).toBe(false);
  expect(await choose()).toBe('kvm');
});

it('is emulation, not a system error, where the trial cannot write its files', async () => {
  const { choose } = machine(async () => 0);
  vi.stubEnv('TMPDIR', '/nowhere/at/all');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await choose()).toBe('emulation');
});

describe('the cached verdict on KVM', () => {
  function server() {
    let tried = 0;
    let code: number | Error = 0;
    const { deps, trial, clock } = machine(async () => {
      tried++;
      if (code instanceof Error) throw code;
      return code;
    });
    const accelerator = acceleratorSource(deps, QEMU);
    const fail = (how: number | Error = 1) => {
      code = how;
    };
    return { accelerator, trial, clock, fail, tried: () => tried };
  }

  it('is determined once for simultaneous callers, and not by the next server', async () => {
    const { accelerator, trial, tried } = server();
    expect(await Promise.all([accelerator(trial), accelerator(trial)])).toEqual(['kvm', 'kvm']);
    expect(tried()).toBe(1);
  });

  it('is determined again for another kernel or monitor file', async () => {
    const { accelerator, trial, fail, tried } = server();
    await accelerator(trial);
    fail();
    expect(await accelerator({ ...trial, kernel: 'another' })).toBe('emulation');
    writeFileSync(trial.monitor.path, 'another program');
    expect(await accelerator(trial)).toBe('emulation');
    expect(tried()).toBe(3);
  });

  it('stays valid during the next trial, which starts after an hour', async () => {
    const { accelerator, trial, clock, fail, tried } = server();
    await accelerator(trial);
    fail();
    await clock.advance(HOUR_MS - 1);
    await accelerator(trial);
    expect(tried()).toBe(1);
    await clock.advance(1);
    expect(await accelerator(trial)).toBe('kvm');
    await expect.poll(() => accelerator(trial)).toBe('emulation');
    expect(tried()).toBe(2);
  });

  it('stays valid after an inconclusive trial, which is repeated in minutes', async () => {
    const { accelerator, trial, clock, fail, tried } = server();
    await accelerator(trial);
    fail(new ServiceError('timeout', 'Too slow.'));
    await clock.advance(HOUR_MS);
    await accelerator(trial);
    await expect.poll(tried).toBe(2);
    expect(await accelerator(trial)).toBe('kvm');
    fail(1);
    await clock.advance(HOUR_MS / 12);
    await expect.poll(() => accelerator(trial)).toBe('emulation');
    expect(tried()).toBe(3);
  });

  it('is determined again within minutes after an inconclusive first trial', async () => {
    const { accelerator, trial, clock, fail } = server();
    fail(new ServiceError('timeout', 'Too slow.'));
    expect(await accelerator(trial)).toBe('emulation');
    fail(0);
    await clock.advance(HOUR_MS / 12);
    await expect.poll(() => accelerator(trial)).toBe('kvm');
  });
});

it('comes from a program whose timeout throws', async () => {
  const slow = realHost('/usr/bin:/bin').run('/bin/sleep', ['60'], { timeoutMs: 50 });
  await expect(slow).rejects.toBeInstanceOf(ServiceError);
});
