// The state that the parts of the provider share: folders, cgroups and the view are found once and kept.
import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findAgent } from '../../agent/binary.ts';
import { once } from '../../domain/once.ts';
import { type SlowFolders, slowFolders } from '../../host/slow-folders.ts';
import { sweepUses } from '../../images/tree-uses.ts';
import type { Config, UserspaceConfig } from '../../schema/config.ts';
import { type CgroupHost, findCgroupHost } from '../local/cgroup-host.ts';
import {
  type InstanceFolders,
  instanceFolders,
  makeInstanceFolders,
  removeRunFolder,
  runtimeNames,
  stageFolder,
} from '../local/instance-folders.ts';
import type { LocalDeps } from '../local/runtimes.ts';
import { sweepSlots } from '../local/uid-slots.ts';
import { runtimeOf } from '../local/use-names.ts';
import type { ImageSource } from '../provider.ts';
import { makeEtc } from './etc.ts';
import { forgetKeptFiles } from './kept-file.ts';
import { type Launcher, openLauncher } from './launcher.ts';
import { hostView, imageView, type RootfsView } from './rootfs-view.ts';

export interface UserspaceDeps extends LocalDeps<UserspaceConfig> {
  imageStore: Pick<Config['images'], 'path'>;
  /** Pulls into the store; absent where nothing is pulled. */
  pulls?: ImageSource | undefined;
}

interface Prepared {
  /** Path of svc-agent. */
  agent: string;
  cgroups: CgroupHost;
}

export interface UserspaceState extends UserspaceDeps {
  folders: InstanceFolders;
  launcher: Launcher;
  /** Creates folders, removes stale claims, finds the agent and cgroups. Done once; after a failure the next caller retries. */
  prepare(): Promise<Prepared>;
  /** The result of `prepare`, for answers that cannot wait. */
  prepared(): Prepared | undefined;
  /** Removes the folder that `prepare` created when no runtime is in it; folders of a service beside us stay. */
  leave(): Promise<void>;
  /** The view of `rootfs`, or of the host. Read again after a few seconds, and after `forgetViews`: folders change. */
  view(rootfs: string | undefined, network: UserspaceConfig['network']): Promise<RootfsView>;
  forgetViews(): void;
  /** For every call on rootfs folders and `workspace_base`. */
  slowly: SlowFolders;
}

export function openState(deps: UserspaceDeps): UserspaceState {
  const folders = instanceFolders(deps.host.uid, deps.instance.id, deps.runtimeDir);
  let found: Prepared | undefined;
  let isPrepared = false;
  const prepare = once(async () => {
    isPrepared = true;
    found = await prepareOnce(deps, folders);
    return found;
  });
  const slowly = slowFolders(deps.clock);
  const views = keptViews(deps, (rootfs, network) =>
    rootfs ? imageView(rootfs, slowly) : hostView(join(folders.instance, 'etc'), network),
  );
  return {
    ...deps,
    folders,
    launcher: openLauncher(deps.host, deps.clock, async () => (await prepare()).agent),
    prepare,
    prepared: () => found,
    leave: async () => {
      if (isPrepared) await removeInstanceFolders(folders);
    },
    ...views,
    slowly,
  };
}

const VIEW_MS = 5000;

/** Two dozen calls to the file system for each sandbox would be a third of its start. A failure is not kept. */
function keptViews(
  { clock }: UserspaceDeps,
  look: UserspaceState['view'],
): Pick<UserspaceState, 'view' | 'forgetViews'> {
  const kept = new Map<string, { view: Promise<RootfsView>; until: number }>();
  return {
    view(rootfs, network) {
      const key = JSON.stringify([rootfs, network]);
      const known = kept.get(key);
      if (known && known.until > clock.monotonic()) return known.view;
      const view = look(rootfs, network);
      kept.set(key, { view, until: clock.monotonic() + VIEW_MS });
      view.catch(() => kept.delete(key));
      return view;
    },
    forgetViews: () => kept.clear(),
  };
}

async function prepareOnce(deps: UserspaceDeps, folders: InstanceFolders): Promise<Prepared> {
  const agent = await findAgent(deps.packageRoot, process.arch);
  await makeInstanceFolders(folders, deps.host.uid);
  await makeEtc(join(folders.instance, 'etc'));
  await forgetKeptFiles(folders);
  const live = new Set(await runtimeNames(folders));
  await sweepSlots(folders, (name) => !live.has(name));
  await sweepUses(deps.imageStore.path, (user) => {
    const name = runtimeOf(folders, user);
    return name !== undefined && !live.has(name);
  });
  return { agent, cgroups: await findCgroupHost(`svc-${folders.short}-trial`) };
}

/** Takes the instance's folder off the host when no runtime is in it. Idempotent; never throws. */
async function removeInstanceFolders(folders: InstanceFolders): Promise<void> {
  const names = await runtimeNames(folders).catch(() => undefined);
  if (names?.length !== 0) return;
  await forgetKeptFiles(folders).catch(() => undefined);
  await removeRunFolder(stageFolder(folders)).catch(() => undefined);
  await rm(join(folders.instance, 'etc'), { recursive: true, force: true }).catch(() => undefined);
  await rmdir(folders.instance).catch(() => undefined);
}
