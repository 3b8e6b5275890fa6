// Readings of cgroups: what stays open, and what is closed when a runtime ends at the same time.
import { mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CgroupUsage } from '../../../../src/providers/local/cgroup-usage.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

/** A folder with the files of a cgroup of version 1. */
function cgroup(): string {
  const folder = join(temporaryFolder(), 'sb-a');
  mkdirSync(folder);
  for (const [file, text] of Object.entries({
    ...{ 'cpuacct.usage': '5000000\n', 'memory.usage_in_bytes': '4096\n', 'pids.current': '3\n' },
    ...{ 'memory.stat': 'total_inactive_file 96\n', 'memory.oom_control': 'oom_kill 2\n' },
    'memory.max_usage_in_bytes': '8192\n',
  }))
    writeFileSync(join(folder, file), text);
  return folder;
}

/** Descriptors of this process into the folder. */
function openIn(folder: string): number {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return targets.filter((target) => target.startsWith(folder)).length;
}

/** Folders that are told when the test says so. */
function later() {
  let resolve: (folders: readonly string[]) => void = () => {};
  const promise = new Promise<readonly string[]>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const clock = { monotonic: () => 0 };
const signal = new AbortController().signal;

it('reads all values, and keeps two files open until the runtime is forgotten', async () => {
  const folder = cgroup();
  const usage = new CgroupUsage('boot', clock);
  const readings = await usage.readAll(
    ['sb-a', 'sb-gone'],
    async (name) => (name === 'sb-a' ? [folder] : []),
    signal,
  );
  expect([...readings]).toMatchObject([
    [
      'sb-a',
      {
        ...{
          source: 'host',
          cpu_us: 5000,
          memory_bytes: 4000,
          peak_memory_bytes: 8192,
          processes: 3,
          oom_kills: 2,
        },
      },
    ],
  ]);
  expect(openIn(folder)).toBe(2);
  usage.forget('sb-a');
  expect(openIn(folder)).toBe(0);
});

it('opens files once when two readings look a runtime up at the same time', async () => {
  const folder = cgroup();
  const usage = new CgroupUsage('boot', clock);
  const { promise, resolve } = later();
  const both = [1, 2].map(() => usage.readAll(['sb-a'], () => promise, signal));
  resolve([folder]);
  expect((await Promise.all(both)).map((readings) => readings.has('sb-a'))).toEqual([true, true]);
  expect(openIn(folder)).toBe(2);
  usage.close();
  expect(openIn(folder)).toBe(0);
});

it('opens nothing of a runtime that was forgotten, or removed, while it was looked up', async () => {
  const folder = cgroup();
  const usage = new CgroupUsage('boot', clock);
  const { promise, resolve } = later();
  const reading = usage.readAll(['sb-a'], () => promise, signal);
  usage.forget('sb-a');
  resolve([folder]);
  expect((await reading).size).toBe(0);
  expect(openIn(folder)).toBe(0);
  rmSync(folder, { recursive: true });
  expect((await usage.readAll(['sb-a'], async () => [folder], signal)).size).toBe(0);
});
