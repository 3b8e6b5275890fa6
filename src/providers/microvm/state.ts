// The state that the parts of the provider share: folders and machinery are found once and kept.
import { stat } from 'node:fs/promises';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { once } from '../../domain/once.ts';
import { type SlowFolders, slowFolders } from '../../host/slow-folders.ts';
import { sweepUses } from '../../images/tree-uses.ts';
import { type CgroupHost, findCgroupHost } from '../local/cgroup-host.ts';
import { runtimeNames } from '../local/instance-folders.ts';
import { sweepSlots } from '../local/uid-slots.ts';
import { runtimeOf } from '../local/use-names.ts';
import type { AcceleratorKind } from './accelerator.ts';
import type { MicrovmDeps } from './folders.ts';
import {
  type MicrovmFolders,
  makeMicrovmFolders,
  microvmFolders,
  removeMicrovmFolders,
  sweepOverlays,
} from './folders.ts';
import { type ImageFolders, imageNames } from './images.ts';
import { type MachinerySource, machinerySource, monitorKind } from './machinery.ts';
import type { MonitorKind } from './monitor-kind.ts';
import { type Overlays, overlaySource } from './overlay.ts';
import { partsTended } from './stale-parts.ts';

/** Calls on the files of images, which leaves Node's other threads for files elsewhere. */
const IMAGES_AT_ONCE = 1;
/** A boot keeps a processor busy: more at once would only make all of them late. */
const BOOTS = { waiting: 2000, waitMs: 60_000 };

export interface MicrovmState extends MicrovmDeps {
  folders: MicrovmFolders;
  machinery: MachinerySource;
  monitor: MonitorKind;
  overlays: Overlays;
  /** Where monitors get cgroups; found once. */
  cgroups(): Promise<CgroupHost>;
  /** Guests that boot. */
  boots: ConcurrencyLimit;
  images: ImageFolders;
  /** Bounds calls on data_dir, which may lie on a mount that hangs. */
  slowly: SlowFolders;
  /** Rejects with `unavailable` when data_dir hangs. Comes before work on data_dir that is too long for `slowly`. */
  checkDataFolder(): Promise<void>;
  /** Looks; see images.ts. */
  imageNames(): Promise<string[]>;
  /**
   * Creates the folders and removes claims of uids and disks without a runtime. Done once; after a failure the next caller
   * retries.
   */
  prepare(): Promise<void>;
  /** Removes the folders that `prepare` created when they are empty; folders of a service beside us stay. */
  leave(): Promise<void>;
  /** The last known values, for answers that cannot wait. */
  accelerator(): AcceleratorKind | undefined;
  bounds(): CgroupHost['folders'] | undefined;
  knownImages(): string[];
}

export function openState(deps: MicrovmDeps): MicrovmState {
  const folders = microvmFolders(deps);
  const found = machinerySource(deps);
  // One at a time, and apart from data_dir: an image's mount that hangs must not keep a sandbox from ending.
  const lookAtImages = slowFolders(deps.clock, IMAGES_AT_ONCE);
  const images = { dataFolder: deps.config.data_dir, configured: deps.config.images, slowly: lookAtImages };
  let kind: AcceleratorKind | undefined;
  let names = Object.keys(images.configured);
  let isPrepared = false;
  const slowly = slowFolders(deps.clock);
  const tend = partsTended(deps);
  const accelerator = async () => {
    kind = await found.accelerator();
    return kind;
  };
  const ready = async () => {
    const machinery = await found.ready();
    kind = machinery.accelerator.kind;
    await tend(machinery);
    return machinery;
  };
  return {
    ...deps,
    folders,
    monitor: monitorKind(deps.config),
    machinery: { ...found, accelerator, ready },
    overlays: overlaySource(deps.host, folders.overlays, deps.config.overlay_mb),
    ...cgroupSource(folders),
    boots: new ConcurrencyLimit(Math.max(2, deps.host.cpus), { clock: deps.clock, ...BOOTS }),
    prepare: once(async () => {
      isPrepared = true;
      await prepareOnce(deps, folders);
    }),
    leave: async () => {
      if (isPrepared) await removeMicrovmFolders(folders, slowly);
    },
    accelerator: () => kind,
    images,
    slowly,
    checkDataFolder: async () => void (await slowly(() => stat(images.dataFolder).catch(() => undefined))),
    imageNames: async () => {
      names = await imageNames(images);
      return names;
    },
    knownImages: () => names,
  };
}

function cgroupSource({ short }: MicrovmFolders): Pick<MicrovmState, 'cgroups' | 'bounds'> {
  let found: CgroupHost | undefined;
  const cgroups = once(async () => {
    found = await findCgroupHost(`svc-${short}-trial`);
    return found;
  });
  return { cgroups, bounds: () => found?.folders };
}

async function prepareOnce(deps: MicrovmDeps, folders: MicrovmFolders): Promise<void> {
  await makeMicrovmFolders(folders, deps.host.uid);
  const live = new Set(await runtimeNames(folders));
  await sweepSlots(folders, (name) => !live.has(name));
  await sweepOverlays(folders, live);
  await sweepUses(deps.imageStore.path, (user) => {
    const name = runtimeOf(folders, user);
    return name !== undefined && !live.has(name);
  });
}
