// Where this instance keeps its virtual machines: sockets and records in a run folder, what they change in data_dir. All
// of it is the server's alone: the monitor opens its files before it becomes another user.
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';
import { makePlaces, type Places, parseRuntimeName, placesFor, runFolder } from '../userspace/places.ts';
import { ifPresent } from '../userspace/presence.ts';
import type { MicrovmDeps } from './deps.ts';

/** sun_path is 108 bytes with its end. unix(7) */
const LONGEST_SOCKET_PATH = 107;

export interface MicrovmPlaces extends Places {
  /** One file a runtime, for what its guest changes. */
  overlays: string;
  /** One folder a template. */
  templates: string;
}

/** Claims of uids are shared with userspace, folders are not: `v` keeps the two apart. */
export function microvmPlaces({ host, instance, runtimeDir, config }: MicrovmDeps): MicrovmPlaces {
  const places = placesFor(host.uid, instance.id, runtimeDir);
  const short = `${places.short}v`;
  return {
    ...places,
    short,
    instance: join(places.root, short),
    overlays: join(config.data_dir, 'overlays', short),
    templates: join(config.data_dir, 'templates', short),
  };
}

/** Names of guests that run only to be saved: nobody asked for them, so nobody is shown them. */
export const TEMPLATE_PREFIX = 'template-';

export function isTemplateRun(name: string): boolean {
  return name.startsWith(TEMPLATE_PREFIX);
}

/** Paths of one runtime. Throws `provider_error` when they are too long for sockets. */
export function runtimePaths(places: MicrovmPlaces, name: string) {
  const folder = runFolder(places, name);
  const paths = {
    folder,
    settings: join(folder, 'settings'),
    pidfile: join(folder, 'pid'),
    sockets: { agent: join(folder, 'agent.sock'), monitor: join(folder, 'vmm.sock') },
    overlay: join(places.overlays, name),
  };
  if (Buffer.byteLength(paths.sockets.agent) <= LONGEST_SOCKET_PATH) return paths;
  throw new ServiceError('provider_error', 'The run folder lies too deep for sockets.', {
    remedy: 'Set XDG_RUNTIME_DIR to a shorter path.',
  });
}
export type RuntimePaths = ReturnType<typeof runtimePaths>;

/** Makes the folders. Idempotent. Throws `provider_error`. */
export async function makeMicrovmPlaces(places: MicrovmPlaces, uid: number): Promise<void> {
  await makePlaces(places, uid);
  for (const folder of [places.overlays, places.templates])
    await makeFolders(folder, 0o700).catch((cause: unknown) => {
      throw new ServiceError('provider_error', 'The folder for virtual machines could not be made.', {
        cause,
        remedy: 'Check that providers.microvm.data_dir can be written.',
      });
    });
}

/** Names of all run folders of this instance. Throws `unavailable` when they cannot be known. */
export async function runtimeNames(places: MicrovmPlaces): Promise<string[]> {
  const names = (await ifPresent(readdir(places.instance))) ?? [];
  return names.filter((name) => parseRuntimeName(name));
}

/** Disks whose runtime has no run folder: those folders are memory, and gone with a reboot. */
export async function sweepOverlays(places: MicrovmPlaces, live: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(places.overlays))
    if (!live.has(name)) await rm(join(places.overlays, name), { recursive: true, force: true });
}

/** Takes the instance's folders off the host when no runtime is in them. Idempotent; never throws. */
export async function leaveMicrovmPlaces(places: MicrovmPlaces): Promise<void> {
  await rmdir(places.overlays).catch(() => undefined);
  await rmdir(places.templates).catch(() => undefined);
  await rmdir(places.instance).catch(() => undefined);
}
