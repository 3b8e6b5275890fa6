// What an image is made of, brought to where mke2fs can take it: a folder, and what is to be changed in the image of it.
import { mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { Contents } from '../../images/disk/contents.ts';
import { inodeScript, ownedScript } from '../../images/disk/inode-script.ts';
import { tooLarge } from '../../images/disk/tools.ts';
import { archiveBytes } from './archive.ts';
import { contentsOf } from './folder-contents.ts';
import { StagedRoot } from './staged-root.ts';
import { unpackTar } from './unpack-tar.ts';

/** Where no size is given. */
const MOST_BYTES = 16 * 1024 ** 3;
/** Headers and names of an archive, beside its contents. */
const ARCHIVE_BYTES = 4 * 1024 ** 3;

export type ImageSource =
  | { kind: 'container'; reference: string }
  | { kind: 'tar'; path: string }
  | { kind: 'dir'; path: string };

export type ImageStage = 'read' | 'make' | 'check' | 'hash' | 'install';

export interface ImageBuild {
  name: string;
  source: ImageSource;
  /** The size of the image in bytes, a multiple of 4096; undefined: as small as its contents allow, 16 GiB at most. */
  size?: number | undefined;
  signal: AbortSignal;
  onStage?(stage: ImageStage, done?: number, total?: number): void;
}

export interface BuildDeps {
  host: Host;
  clock: Clock;
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  /** As `withExport`, of the engine that is configured. */
  exportOf<T>(
    reference: string,
    work: (tar: AsyncIterable<Buffer>) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T>;
}

export interface Making {
  build: ImageBuild;
  deps: BuildDeps;
  /** A folder of its own. */
  work: string;
}

export interface Staged {
  /** The folder to make the image of. */
  from: string;
  /** What is to be changed in it afterwards; read once. */
  script: Iterable<Buffer>;
  contents: Contents;
  warnings: string[];
}

/** Throws as `buildImage` does. */
export async function stage(making: Making): Promise<Staged> {
  const { source, signal } = making.build;
  if (source.kind === 'dir') return stageFolder(making, source.path);
  if (source.kind === 'container')
    return making.deps.exportOf(source.reference, (tar) => stageTar(making, tar), signal);
  await requireFile(source.path);
  const maxBytes = limitOf(making.build) + ARCHIVE_BYTES;
  return stageTar(making, archiveBytes({ host: making.deps.host, path: source.path, maxBytes }));
}

export const limitOf = ({ size }: ImageBuild) => size ?? MOST_BYTES;

async function requireFile(path: string): Promise<void> {
  if (path === '-' || !(await stat(path)).isDirectory()) return;
  throw new ServiceError('bad_request', 'The path is a directory, not a tar archive.', {
    remedy: 'Use --from-dir for a directory.',
  });
}

async function stageTar({ build, deps, work }: Making, tar: AsyncIterable<Buffer>): Promise<Staged> {
  const from = join(work, 'root');
  await mkdir(from, { mode: 0o700 });
  const root = new StagedRoot(from);
  const { signal, onStage } = build;
  const onBytes = (done: number) => onStage?.('read', done);
  const unpacked = await unpackTar(tar, root, { folder: work, maxBytes: limitOf(build), signal, onBytes });
  const { contents } = await contentsOf(from, deps.host.uid, signal);
  return { from, script: inodeScript(root.root, work), contents, warnings: unpacked.warnings };
}

/** As root every file keeps its owner; else what belongs to this user is root's in the guest. */
async function stageFolder({ build, deps }: Making, path: string): Promise<Staged> {
  const from = resolve(path);
  if (!(await stat(from)).isDirectory())
    throw new ServiceError('bad_request', 'The path is not a directory.', {
      remedy: 'Use --from-tar for a tar archive.',
    });
  const { contents, owned } = await contentsOf(from, deps.host.uid, build.signal);
  if (contents.bytes > limitOf(build)) throw tooLarge();
  const script = deps.host.uid === 0 ? [] : ownedScript(owned);
  return { from, script, contents, warnings: [] };
}
