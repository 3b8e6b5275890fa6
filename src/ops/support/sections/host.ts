// The machine: what bears on how the service runs on it. No names of users or of the machine itself.
import { readFileSync, statfsSync } from 'node:fs';
import { freemem, loadavg, release, uptime } from 'node:os';
import { dirname } from 'node:path';
import type { BundleSources, Section } from '../sources.ts';
import { always } from '../sources.ts';

const PROGRAMS = ['bwrap', 'unshare', 'proot', 'docker', 'podman', 'runsc', 'qemu-system-x86_64'];

export const HOST: Section = {
  id: 'host',
  title: 'This machine',
  skipped: always,
  collect: async ({ host, reading }) => ({
    system: systemName(),
    kernel: release(),
    uptime_seconds: Math.round(uptime()),
    root: host.uid === 0,
    cpus: host.cpus,
    load: loadavg(),
    memory_mb: host.memoryMb,
    free_memory_mb: Math.round(freemem() / 1024 / 1024),
    cgroups: firstLines('/proc/self/cgroup', 20),
    limits: firstLines('/proc/self/limits', 20),
    programs: Object.fromEntries(
      await Promise.all(PROGRAMS.map(async (name) => [name, (await host.which(name)) ?? null])),
    ),
    database_disk: diskOf(reading),
  }),
};

function systemName(): string | undefined {
  const line = firstLines('/etc/os-release', 40).find((each) => each.startsWith('PRETTY_NAME='));
  return line?.slice('PRETTY_NAME='.length).replaceAll('"', '');
}

function firstLines(path: string, most: number): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trimEnd())
      .filter(Boolean)
      .slice(0, most);
  } catch {
    return [];
  }
}

function diskOf({ config }: BundleSources['reading']): object | undefined {
  try {
    const { bavail, blocks, bsize, type } = statfsSync(dirname(config.database.path));
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize, type: `0x${type.toString(16)}` };
  } catch {
    return undefined;
  }
}
