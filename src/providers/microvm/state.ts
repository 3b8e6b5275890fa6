// What the parts of the provider share: places and machinery are found once and kept.
import { type Limiter, limiter } from '../limiter.ts';
import { type CgroupHost, findCgroupHost } from '../userspace/cgroup-host.ts';
import { once } from '../userspace/state.ts';
import { sweepSlots } from '../userspace/uid-slots.ts';
import type { AcceleratorKind } from './accelerator.ts';
import type { MicrovmDeps } from './deps.ts';
import { imageNames } from './image.ts';
import type { ImagePlaces } from './images.ts';
import { type MachinerySource, machinerySource } from './machinery.ts';
import type { MonitorKind } from './monitor-kind.ts';
import { monitorKind } from './monitor-kinds.ts';
import { type Overlays, overlaySource } from './overlay.ts';
import {
  leaveMicrovmPlaces,
  type MicrovmPlaces,
  makeMicrovmPlaces,
  microvmPlaces,
  runtimeNames,
  sweepOverlays,
} from './places.ts';
import { partsTended } from './stale-parts.ts';
import { type Templates, templateSource } from './templates.ts';

/** A boot keeps a processor busy: more at once would only all be late. */
const BOOTS = { waiting: 2000, waitMs: 60_000 };

export interface MicrovmState extends MicrovmDeps {
  places: MicrovmPlaces;
  machinery: MachinerySource;
  monitor: MonitorKind;
  overlays: Overlays;
  /** Where monitors get cgroups; looked for once. */
  cgroups(): Promise<CgroupHost>;
  /** Guests that boot. */
  boots: Limiter;
  images: ImagePlaces;
  /** Looks; see image.ts. */
  imageNames(): Promise<string[]>;
  templates: Templates;
  /** Folders; claims of uids and disks without a runtime go. Done once; a failure is tried again by the next caller. */
  prepare(): Promise<void>;
  /** Ends what is being saved. Folders that `prepare` made here go when nothing is in them; another's, such as a service's beside us, stay. */
  leave(): Promise<void>;
  /** What was found, for answers that cannot wait. */
  accelerator(): AcceleratorKind | undefined;
  bounds(): CgroupHost['places'] | undefined;
  knownImages(): string[];
}

export function openState(deps: MicrovmDeps): MicrovmState {
  const places = microvmPlaces(deps);
  const found = machinerySource(deps);
  const images = { dataFolder: deps.config.data_dir, configured: deps.config.images };
  let kind: AcceleratorKind | undefined;
  let names = Object.keys(images.configured);
  let isPrepared = false;
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
  const state: MicrovmState = {
    ...deps,
    places,
    monitor: monitorKind(deps.config),
    machinery: { ...found, accelerator, ready },
    overlays: overlaySource(deps.host, places.overlays, deps.config.overlay_mb),
    templates: templateSource(() => state),
    ...cgroupSource(places),
    boots: limiter(deps.clock, { ...BOOTS, atOnce: Math.max(2, deps.host.cpus) }),
    prepare: once(async () => {
      isPrepared = true;
      await prepareOnce(deps, places);
    }),
    leave: async () => {
      await state.templates.close();
      if (isPrepared) await leaveMicrovmPlaces(places);
    },
    accelerator: () => kind,
    images,
    imageNames: async () => {
      names = await imageNames(images);
      return names;
    },
    knownImages: () => names,
  };
  return state;
}

function cgroupSource({ short }: MicrovmPlaces): Pick<MicrovmState, 'cgroups' | 'bounds'> {
  let found: CgroupHost | undefined;
  const cgroups = once(async () => {
    found = await findCgroupHost(`svc-${short}-trial`);
    return found;
  });
  return { cgroups, bounds: () => found?.places };
}

async function prepareOnce(deps: MicrovmDeps, places: MicrovmPlaces): Promise<void> {
  await makeMicrovmPlaces(places, deps.host.uid);
  const live = new Set(await runtimeNames(places));
  await sweepSlots(places, (name) => !live.has(name));
  await sweepOverlays(places, live);
}
