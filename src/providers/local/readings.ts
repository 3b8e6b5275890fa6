// What runtimes on this host use, by the cgroups that were made for them.
import { join } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import type { RuntimeRef } from '../provider.ts';
import type { Reading } from '../reading.ts';
import type { CgroupHost } from './cgroup-host.ts';
import { cgroupName } from './cgroup-plan.ts';
import { CgroupUsage } from './cgroup-usage.ts';
import { type InstanceFolders, runFolder, runtimeName } from './instance-folders.ts';

interface Source {
  folders: InstanceFolders;
  cgroups(): Promise<CgroupHost>;
  /** The cgroups in the record of a run folder: the server may have been in another one when it made them. */
  recorded(folder: string): Promise<readonly string[] | undefined>;
}

export interface LocalReadings {
  read(refs: readonly RuntimeRef[], signal: AbortSignal): Promise<Map<string, Reading>>;
  forget(ref: RuntimeRef): void;
  close(): void;
}

export function localReadings(
  { host, clock }: { host: { bootId: string }; clock: Clock },
  source: Source,
): LocalReadings {
  const usage = new CgroupUsage(host.bootId, clock);
  const foldersOf = async (name: string) => {
    const recorded = await source.recorded(runFolder(source.folders, name));
    const { folders } = await source.cgroups();
    const today = [...folders.values()].map((base) => join(base, cgroupName(source, name)));
    return [...new Set([...(recorded ?? []), ...today])];
  };
  return {
    read: async (refs, signal) => {
      const ids = new Map(refs.map((ref) => [runtimeName(ref), ref.id]));
      const readings = await usage.readAll([...ids.keys()], foldersOf, signal);
      return new Map([...readings].map(([name, reading]) => [ids.get(name) ?? name, reading]));
    },
    forget: (ref) => usage.forget(runtimeName(ref)),
    close: () => usage.close(),
  };
}
