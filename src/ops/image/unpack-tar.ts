// Unpacks a tar of a root file system into a staged root. Entries that a root does not need, or that an image cannot
// express, are left out and counted; entries that no root may hold are refused.
import { ServiceError } from '../../domain/errors.ts';
import { type TarEntry, tarEntries } from '../../domain/tar/tar-reader.ts';
import { tooLarge } from '../../images/disk/tools.ts';
import { requireSpace } from '../db/space.ts';
import type { StagedRoot } from './staged-root.ts';
import { refused } from './tree-path.ts';

const LARGEST_ID = 0xffffffff;
/** Small files are many: the free disk space is checked for larger ones only. */
const SMALL = 1024 * 1024;
const LARGEST_CAPABILITY = 64;

export interface Unpacking {
  /** For the disk's room. */
  folder: string;
  /** The most bytes that contents may have in all. */
  maxBytes: number;
  signal?: AbortSignal | undefined;
  onBytes?(done: number): void;
}

export interface Unpacked {
  bytes: number;
  files: number;
  warnings: string[];
}

/** Throws `bad_request` for an archive that is none or hostile, `resource_limit` for too large a one, and the signal's reason. */
export async function unpackTar(
  source: AsyncIterable<Buffer>,
  root: StagedRoot,
  unpacking: Unpacking,
): Promise<Unpacked> {
  const state: State = { root, unpacking, bytes: 0, files: 0, devices: 0, unsayable: 0, layers: false };
  for await (const entry of tarEntries(source)) {
    unpacking.signal?.throwIfAborted();
    await take(state, entry);
  }
  if (state.layers && !root.root.children.has('bin'))
    throw new ServiceError('bad_request', 'The file is an archive of image layers from `docker save`.', {
      remedy: 'Use --from-container, or create an archive of a container with `docker export`.',
    });
  root.finish();
  return { bytes: state.bytes, files: state.files, warnings: warningsOf(state) };
}

interface State {
  root: StagedRoot;
  unpacking: Unpacking;
  bytes: number;
  files: number;
  devices: number;
  unsayable: number;
  /** It has what `docker save` puts beside layers. */
  layers: boolean;
}

async function take(state: State, entry: TarEntry): Promise<void> {
  const { root } = state;
  if (entry.uid > LARGEST_ID || entry.gid > LARGEST_ID)
    throw refused('An entry of the archive has an invalid owner.');
  if (/[\r\n]/.test(entry.name)) {
    state.unsayable++;
    return;
  }
  if (entry.name === 'manifest.json') state.layers = true;
  const path = entry.name;
  if (entry.type === '5') root.folder(path, inodeOf(entry));
  else if (entry.type === '2') root.link(path, inodeOf(entry), entry.link);
  else if (entry.type === '1') root.hardLink(path, entry.link);
  else if (entry.type === '0' || entry.type === '7') await takeFile(state, entry);
  else state.devices++;
}

async function takeFile(state: State, entry: TarEntry): Promise<void> {
  const { maxBytes, folder, onBytes } = state.unpacking;
  state.bytes += entry.size;
  if (state.bytes > maxBytes) throw tooLarge();
  if (entry.size > SMALL) requireSpace(folder, entry.size);
  // Before ustar, a folder was a file whose name ends so.
  if (entry.name.endsWith('/')) return state.root.folder(entry.name, inodeOf(entry));
  await state.root.file(entry.name, inodeOf(entry), entry.content());
  state.files++;
  onBytes?.(state.bytes);
}

const inodeOf = ({ mode, uid, gid, mtime, capability }: TarEntry) => ({
  mode,
  uid,
  gid,
  mtime,
  capability: capability && capability.length <= LARGEST_CAPABILITY ? capability : undefined,
});

function warningsOf({ devices, unsayable }: State): string[] {
  return [
    ...(devices > 0
      ? [`${devices} device files and pipes are left out: a guest has a /dev of its own.`]
      : []),
    ...(unsayable > 0 ? [`${unsayable} entries with line breaks in their names are left out.`] : []),
  ];
}
