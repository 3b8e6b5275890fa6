// The files of an archive of images: members of a tar that can seek, or files of a folder. Only names that documents refer to
// are opened.
import { constants, createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { invalid } from './invalid-image.ts';
import { indexTar, MOST_PARTS } from './tar-index.ts';

export interface Members {
  /** Undefined when there is no such file. Throws `provider_error` for one that is larger than `maxBytes`. */
  read(name: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Throws `provider_error` when there is no such file. */
  open(name: string): Promise<{ size: number; bytes: Readable }>;
  /** Whether the top has a folder or file of this name. */
  hasTop(name: string): boolean;
  /** False for a tar without the mark at its end, which may be cut off between two entries. */
  hasEnd: boolean;
  close(): Promise<void>;
}

interface Found {
  open(name: string): Promise<{ size: number; bytes: Readable } | undefined>;
  hasTop(name: string): boolean;
  hasEnd: boolean;
  close(): Promise<void>;
}

/** What both kinds do alike. */
function membersOf(found: Found): Members {
  return {
    hasTop: found.hasTop,
    hasEnd: found.hasEnd,
    close: found.close,
    async read(name, maxBytes) {
      const file = await found.open(checkName(name));
      if (file && file.size > maxBytes) {
        file.bytes.destroy();
        throw invalid('A document of the image is too large.');
      }
      return file && buffer(file.bytes);
    },
    async open(name) {
      const file = await found.open(checkName(name));
      if (file) return file;
      throw invalid('The archive lacks a file that it refers to.');
    },
  };
}

function checkName(name: string): string {
  const parts = name.split('/');
  const isPlain = parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));
  if (isPlain && parts.length <= MOST_PARTS) return name;
  throw invalid('The archive refers to an invalid file name.');
}

/** A folder, for example an OCI layout. Links in it are not followed. */
export function folderMembers(folder: string, top: readonly string[]): Members {
  return membersOf({
    hasTop: (name) => top.includes(name),
    hasEnd: true,
    close: async () => {},
    async open(name) {
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const file = await open(join(folder, name), flags).catch(ifMissing);
      if (!file) return undefined;
      const facts = await file.stat();
      if (facts.isFile()) return { size: facts.size, bytes: file.createReadStream() };
      await file.close();
      throw invalid('The archive refers to an invalid file name.');
    },
  });
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
  throw error;
}

/** A tar, which is read once from header to header. Throws as `indexTar`. */
export async function tarMembers(path: string, signal: AbortSignal): Promise<Members> {
  const file = await open(path, 'r');
  try {
    const { find, hasTop, hasEnd } = await indexTar(file, signal);
    return membersOf({
      hasTop,
      hasEnd,
      close: () => file.close(),
      async open(name) {
        const member = find(name);
        if (!member) return undefined;
        if (member.size === 0) return { size: 0, bytes: createReadStream('/dev/null') };
        const range = { start: member.at, end: member.at + member.size - 1, highWaterMark: 1024 * 1024 };
        return { size: member.size, bytes: createReadStream(path, range) };
      },
    });
  } catch (error) {
    await file.close();
    throw error;
  }
}
