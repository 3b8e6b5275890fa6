// What the parts of the provider share: places, cgroups and the view are found once and kept.
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { findAgent } from '../../agent/binary.ts';
import { type SlowFolders, slowFolders } from '../../host/slow-folders.ts';
import { type CgroupHost, findCgroupHost } from './cgroup-host.ts';
import type { UserspaceDeps } from './deps.ts';
import { makeEtc } from './etc.ts';
import { type Launcher, openLauncher } from './launcher.ts';
import { makePlaces, type Places, parseRuntimeName, placesFor } from './places.ts';
import { ifPresent } from './presence.ts';
import { sweepSlots } from './uid-slots.ts';
import { hostView, imageView, type View } from './view.ts';

export interface Prepared {
  /** Path of svc-agent. */
  agent: string;
  cgroups: CgroupHost;
}

export interface UserspaceState extends UserspaceDeps {
  places: Places;
  launcher: Launcher;
  /** Folders, stale claims, agent, cgroups. Done once; a failure is tried again by the next caller. */
  prepare(): Promise<Prepared>;
  /** What prepare found, for answers that cannot wait. */
  prepared(): Prepared | undefined;
  /** The folder that `prepare` made here goes when no runtime is in it; another's, such as a service's beside us, stays. */
  leave(): Promise<void>;
  /** Of `rootfs`, or the host view. Looked at again after a few seconds, and after `forgetViews`: folders change. */
  view(rootfs: string | undefined, network: 'none' | 'host'): Promise<View>;
  forgetViews(): void;
  /** For every look into rootfs folders and `workspace_base`. */
  slowly: SlowFolders;
}

export function openState(deps: UserspaceDeps): UserspaceState {
  const places = placesFor(deps.host.uid, deps.instance.id, deps.runtimeDir);
  let found: Prepared | undefined;
  let isPrepared = false;
  const prepare = once(async () => {
    isPrepared = true;
    found = await prepareOnce(deps, places);
    return found;
  });
  const slowly = slowFolders(deps.clock);
  const views = keptViews(deps, (rootfs, network) =>
    rootfs ? imageView(rootfs, slowly) : hostView(join(places.instance, 'etc'), network),
  );
  return {
    ...deps,
    places,
    launcher: openLauncher(deps.host, deps.clock, async () => (await prepare()).agent),
    prepare,
    prepared: () => found,
    leave: async () => {
      if (isPrepared) await leavePlaces(places);
    },
    ...views,
    slowly,
  };
}

const VIEW_MS = 5000;

/** Two dozen looks at the file system a sandbox would be a third of its start. A failure is not kept. */
function keptViews(
  { clock }: UserspaceDeps,
  look: UserspaceState['view'],
): Pick<UserspaceState, 'view' | 'forgetViews'> {
  const kept = new Map<string, { view: Promise<View>; until: number }>();
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

async function prepareOnce(deps: UserspaceDeps, places: Places): Promise<Prepared> {
  const agent = await findAgent(deps.packageRoot, process.arch);
  await makePlaces(places, deps.host.uid);
  await makeEtc(join(places.instance, 'etc'));
  const live = new Set(await runtimeNames(places));
  await sweepSlots(places, (name) => !live.has(name));
  return { agent, cgroups: await findCgroupHost(`svc-${places.short}-trial`) };
}

/** Names of all run folders of this instance. Throws `unavailable` when they cannot be known. */
export async function runtimeNames(places: Places): Promise<string[]> {
  const names = (await ifPresent(readdir(places.instance))) ?? [];
  return names.filter((name) => parseRuntimeName(name));
}

/** Takes the instance's folder off the host when no runtime is in it. Idempotent; never throws. */
async function leavePlaces(places: Places): Promise<void> {
  const names = await runtimeNames(places).catch(() => undefined);
  if (names?.length !== 0) return;
  await rm(join(places.instance, 'etc'), { recursive: true, force: true }).catch(() => undefined);
  await rmdir(places.instance).catch(() => undefined);
}

/** The result of the first success, shared by all callers; a failure is not kept. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}
