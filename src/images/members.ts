// The files of an archive of images: members of a tar that can seek, or files of a folder. Only names that documents refer to
// are opened.
import { constants, createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join, posix } from 'node:path';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ServiceError } from '../domain/errors.ts';
import { BLOCK, noTar, parseHeader } from '../domain/tar/tar-header.ts';

const MOST_MEMBERS = 1_000_000;
const MOST_EXTENSION = 64 * 1024;
const MOST_PARTS = 4;
const MOST_LINKS = 8;

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

type Member = { at: number; size: number } | { link: string };

/** A tar, which is read once from header to header. Throws `bad_request` for a file that is not a tar. */
export async function tarMembers(path: string, signal: AbortSignal): Promise<Members> {
  const file = await open(path, 'r');
  try {
    const { index, hasEnd } = await indexOf(file, signal);
    const top = new Set([...index.keys()].map((name) => name.split('/')[0]));
    return membersOf({
      hasTop: (name) => top.has(name),
      hasEnd,
      close: () => file.close(),
      async open(name) {
        const member = resolved(index, name);
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

async function indexOf(
  file: FileHandle,
  signal: AbortSignal,
): Promise<{ index: Map<string, Member>; hasEnd: boolean }> {
  const index = new Map<string, Member>();
  const { size: end } = await file.stat();
  const take = async (at: number, size: number) => {
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, at);
    if (bytesRead < size) throw cutOff();
    return bytes;
  };
  if (end < BLOCK) throw noTar();
  let long: string | undefined;
  for (let at = 0, count = 0; at < end; count++) {
    signal.throwIfAborted();
    if (count > MOST_MEMBERS) throw invalid('The archive has too many entries.');
    const header = parseHeader(await take(at, BLOCK));
    if (!header) return { index, hasEnd: true };
    const { type, size } = header;
    const content = at + BLOCK;
    if (type === 'x' || type === 'L') {
      if (size > MOST_EXTENSION) throw invalid('An entry of the archive has too much metadata.');
      const text = (await take(content, size)).toString('latin1');
      long = type === 'L' ? text.replace(/\0.*$/s, '') : (/\d+ path=([^\n]*)\n/.exec(text)?.[1] ?? long);
    } else {
      const name = posix.normalize(`/${long ?? header.name}`).slice(1);
      long = undefined;
      if (type === '0' || type === '7') index.set(name, { at: content, size });
      else if (type === '1' || type === '2') index.set(name, { link: targetOf(name, header.link, type) });
      else index.set(name, { at: content, size: 0 });
    }
    at = content + Math.ceil((['1', '2', '5'].includes(type) ? 0 : size) / BLOCK) * BLOCK;
    if (!Number.isSafeInteger(at) || at > end) throw cutOff();
  }
  return { index, hasEnd: false };
}

/** Within the archive: a symbolic link is relative to its folder, a hard link to the top. */
function targetOf(name: string, link: string, type: string): string {
  const from = type === '2' ? posix.dirname(`/${name}`) : '/';
  return posix.resolve(from, link).slice(1);
}

function resolved(index: Map<string, Member>, name: string): { at: number; size: number } | undefined {
  let member = index.get(name);
  for (let links = 0; member && 'link' in member && links < MOST_LINKS; links++)
    member = index.get(member.link);
  return member && !('link' in member) ? member : undefined;
}

/** The archive ends too early. */
export function cutOff(): ServiceError {
  return invalid('The archive is cut off.');
}

/** An archive or a document of an image that is damaged, hostile or of an unknown kind. */
export class InvalidImage extends ServiceError {}

export function invalid(message: string, cause?: unknown): ServiceError {
  return new InvalidImage('provider_error', message, {
    cause,
    remedy: 'Create the archive again, for example with `docker save`.',
  });
}
