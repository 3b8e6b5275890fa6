// A machine as a test says it is: files by path, programs by name. What is not said is not there.
import type { Stats } from 'node:fs';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { FileSystemFacts, Host, RunResult } from '../../../src/host/host.ts';

export interface FakeHostFacts {
  uid?: number;
  memoryMb?: number;
  /** Contents by path. */
  files?: Record<string, string | Buffer>;
  /** Folders that are there. */
  folders?: string[];
  /** Owners and modes by path; root's, 755 for a folder and 600 for a file, where nothing is said. */
  owners?: Record<string, { mode?: number; uid?: number; gid?: number }>;
  /** What programs in PATH answer. */
  programs?: Record<string, Partial<RunResult>>;
  readOnly?: boolean;
  /** Disks of their own, by folder; `folders` and `links` are the errors of making these. */
  disks?: Record<string, { freeBytes?: number; folders?: string; links?: string }>;
  /** No folder can be made anywhere. */
  noFolders?: boolean;
  fileSystem?: Partial<FileSystemFacts>;
  /** ms of each; an error instead of them; or never. */
  syncs?: number[] | Error | 'never';
  portFault?: string;
}

const EXT4 = 0xef53;
const GIBIBYTE = 1024 ** 3;

export function fakeHost(facts: FakeHostFacts): Host {
  const { files = {}, folders = [], programs = {}, disks = {} } = facts;
  return {
    uid: facts.uid ?? 0,
    gid: 0,
    cpus: 4,
    memoryMb: facts.memoryMb ?? 64_000,
    maxFiles: 1_048_576,
    bootId: 'boot',
    stat: async (path) => {
      const isFolder = folders.includes(path) || path in disks;
      if (!isFolder && !(path in files)) return undefined;
      const mode = isFolder ? 0o40755 : 0o100600;
      return { mode, uid: 0, gid: 0, ...facts.owners?.[path], isDirectory: () => isFolder } as Stats;
    },
    which: async (name) => (name in programs ? `/usr/bin/${name}` : undefined),
    run: async (file) => ({ code: 0, stdout: '', stderr: '', ...programs[file.replace('/usr/bin/', '')] }),
    accompany: () => {
      throw new Error('Not in this fake.');
    },
    detach: () => Promise.reject(new Error('Not in this fake.')),
    read: async (path, maxBytes) => {
      const content = files[path];
      return content === undefined ? undefined : Buffer.from(content).subarray(0, maxBytes);
    },
    mayWrite: async () => facts.readOnly !== true,
    tryFolder: async (folder) => {
      const { folders: code } = disks[folder] ?? { folders: facts.noFolders ? 'ENOENT' : undefined };
      if (code) throw Object.assign(new Error(`${code}: mkdir`), { code });
    },
    tryLink: async (folder) => {
      const code = disks[folder]?.links;
      if (code) throw Object.assign(new Error(`${code}: link`), { code });
    },
    fileSystem: async (path) => ({
      freeBytes: 50 * GIBIBYTE,
      totalBytes: 100 * GIBIBYTE,
      type: EXT4,
      ...(disks[path] ? { freeBytes: disks[path].freeBytes ?? 50 * GIBIBYTE } : facts.fileSystem),
    }),
    timeSyncs: () => syncsOf(facts.syncs ?? [1, 2, 3]),
    portFault: async () => facts.portFault,
  };
}

function syncsOf(syncs: NonNullable<FakeHostFacts['syncs']>): Promise<number[]> {
  if (syncs === 'never') return new Promise(() => {});
  return syncs instanceof Error ? Promise.reject(syncs) : Promise.resolve(syncs);
}

export const ioError = () =>
  new ServiceError('unavailable', 'Could not inspect a file on this host (EIO).', {
    remedy: 'Check the disk.',
  });
