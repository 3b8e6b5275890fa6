// The machine, its clocks and its ids.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { realClock } from '../../../src/host/clock.ts';
import { realIds } from '../../../src/host/ids.ts';
import { packageRoot, packageVersion } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import { seededRandom } from '../../support/fakes/ports.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-host-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.useRealTimers());

it('stat reports a file as missing or present', async () => {
  const host = realHost();
  expect((await host.stat(folder))?.isDirectory()).toBe(true);
  expect(await host.stat(join(folder, 'absent'))).toBeUndefined();
  writeFileSync(join(folder, 'file'), '');
  expect(await host.stat(join(folder, 'file', 'below'))).toBeUndefined();
});

it('which finds programs, not folders and not plain files', async () => {
  for (const name of ['a', 'b', 'c']) mkdirSync(join(folder, name));
  mkdirSync(join(folder, 'a', 'tool'));
  writeFileSync(join(folder, 'b', 'tool'), '', { mode: 0o644 });
  writeFileSync(join(folder, 'c', 'tool'), '');
  chmodSync(join(folder, 'c', 'tool'), 0o755);
  const path = ['a', 'b', 'c'].map((name) => join(folder, name)).join(':');
  expect(await realHost(path).which('tool')).toBe(join(folder, 'c', 'tool'));
  expect(await realHost(path).which('absent')).toBeUndefined();
  expect(await realHost('').which(join(folder, 'c', 'tool'))).toBe(join(folder, 'c', 'tool'));
});

it('reports the facts of the machine', () => {
  const host = realHost();
  expect(host.cpus).toBeGreaterThan(0);
  expect(host.memoryMb).toBeGreaterThan(64);
  expect(host.bootId).toMatch(/^[0-9a-f-]{36}$|^unknown$/);
  expect(host.uid).toBe(process.getuid?.());
});

it('chains timers for delays beyond the range of one', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const run = vi.fn();
  const cancelled = vi.fn();
  const long = 2 ** 31 * 3;
  realClock().after(long, run);
  const timer = realClock().after(long, cancelled);
  vi.advanceTimersByTime(2 ** 31);
  timer.cancel();
  timer.cancel();
  vi.advanceTimersByTime(long - 2 ** 31 - 1000);
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(run).toHaveBeenCalledTimes(1);
  expect(cancelled).not.toHaveBeenCalled();
});

it('sleep ends with the reason of its signal', async () => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const sleeping = realClock().sleep(1e12, stop.signal);
  stop.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  await expect(realClock().sleep(0, stop.signal)).rejects.toBe(reason);
  await expect(realClock().sleep(1)).resolves.toBeUndefined();
});

it('a timer treats an invalid delay as zero', async () => {
  for (const ms of [Number.NaN, -5, 0]) await new Promise<void>((resolve) => realClock().after(ms, resolve));
});

it('ids have their form, follow the given randomness, and do not repeat', () => {
  const ids = realIds(realRandom());
  expect(ids.sandbox()).toMatch(/^sb-[a-z2-7]{12}$/);
  expect(ids.exec()).toMatch(/^ex-[a-z2-7]{12}$/);
  expect(ids.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(Array.from({ length: 10_000 }, () => ids.sandbox())).size).toBe(10_000);
  expect(realIds(seededRandom(7)).sandbox()).toBe(realIds(seededRandom(7)).sandbox());
});

it('finds the package from any depth', () => {
  writeFileSync(join(folder, 'package.json'), '{"version":"9.8.7"}');
  expect(packageRoot(`file://${join(folder, 'x', 'y', 'z.js')}`)).toBe(folder);
  expect(packageVersion(folder)).toBe('9.8.7');
  expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
  expect(() => packageRoot('file:///no-such-folder/z.js')).toThrow('incomplete');
});
