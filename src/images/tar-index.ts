// Where the files of a tar lie, which is read once from header to header. Only names that documents of an image can refer to are
// kept: an archive may have a million others, each of 64 KiB.
import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { BLOCK, noTar, parseHeader, type TarHeader } from '../domain/tar/tar-header.ts';
import { paxRecords } from '../domain/tar/tar-reader.ts';
import { cutOff, invalid } from './invalid-image.ts';

const MOST_MEMBERS = 1_000_000;
const MOST_EXTENSION = 64 * 1024;
const MOST_LINKS = 8;
/** Parts of a name, and its characters. */
export const MOST_PARTS = 4;
const LONGEST = 255;
/** Characters of all names that are kept. */
const MOST_NAMES = 64 * 1024 * 1024;
const EXTENSIONS = ['x', 'L', 'K'];
const FILES = ['0', '7'];
const SIZE = /^\d{1,15}$/;

export interface MemberLocation {
  at: number;
  size: number;
}

export interface TarIndex {
  /** Follows links within the archive. Undefined when there is no such file. */
  find(name: string): MemberLocation | undefined;
  /** Whether the top has a folder or file of this name. */
  hasTop(name: string): boolean;
  /** False without the mark at the end: the tar may be cut off between two entries. */
  hasEnd: boolean;
}

type Member = MemberLocation | { link: string };

interface Extension {
  path?: string | undefined;
  linkpath?: string | undefined;
  size?: number | undefined;
}

/** Throws `bad_request` for a file that is not a tar, `provider_error` for a damaged one, and the signal's reason. */
export async function indexTar(file: FileHandle, signal: AbortSignal): Promise<TarIndex> {
  const names = new Names();
  const { size: end } = await file.stat();
  if (end < BLOCK) throw noTar();
  let extension: Extension = {};
  let hasEnd = false;
  for (let at = 0, count = 0; at < end && !hasEnd; count++) {
    signal.throwIfAborted();
    if (count > MOST_MEMBERS) throw invalid('The archive has too many entries.');
    const header = parseHeader(await take(file, at, BLOCK));
    hasEnd = header === undefined;
    if (!header) break;
    const content = at + BLOCK;
    const size = sizeOf(header, extension);
    if (EXTENSIONS.includes(header.type)) {
      if (size > MOST_EXTENSION) throw invalid('An entry of the archive has too much metadata.');
      const text = (await take(file, content, size)).toString('latin1');
      extension = { ...extension, ...extensionOf(header, text) };
    } else if (header.type !== 'g' && header.type !== 'V') {
      names.add(header, extension, { at: content, size });
      extension = {};
    }
    at = content + Math.ceil(size / BLOCK) * BLOCK;
    if (!Number.isSafeInteger(at) || at > end) throw cutOff();
  }
  return { find: (name) => names.find(name), hasTop: (name) => names.tops.has(name), hasEnd };
}

async function take(file: FileHandle, at: number, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, at);
  if (bytesRead < size) throw cutOff();
  return bytes;
}

/** Bytes of content. The unpacker reads archives alike (agent/src/image/tar.c): some programs give a size to links, too. */
function sizeOf({ type, size }: TarHeader, extension: Extension): number {
  if (EXTENSIONS.includes(type) || type === 'g' || type === 'V') return size;
  return FILES.includes(type) ? (extension.size ?? size) : 0;
}

function extensionOf({ type }: TarHeader, text: string): Extension {
  const end = text.indexOf('\0');
  const long = end < 0 ? text : text.slice(0, end);
  if (type === 'L') return { path: long };
  if (type === 'K') return { linkpath: long };
  const { path, linkpath, size } = Object.fromEntries(paxRecords(text));
  if (size !== undefined && !SIZE.test(size)) throw invalid('An entry of the archive has an invalid size.');
  return {
    ...(path !== undefined && { path }),
    ...(linkpath !== undefined && { linkpath }),
    ...(size !== undefined && { size: Number(size) }),
  };
}

class Names {
  readonly #members = new Map<string, Member>();
  readonly tops = new Set<string>();
  #characters = 0;

  add({ type, ...header }: TarHeader, { path, linkpath }: Extension, place: MemberLocation): void {
    const name = posix.normalize(`/${path ?? header.name}`).slice(1);
    const [top = '', ...below] = name.split('/');
    if (!this.tops.has(top)) {
      this.#count(top);
      this.tops.add(top);
    }
    if (below.length >= MOST_PARTS || name.length > LONGEST) return;
    const isLink = type === '1' || type === '2';
    const member = isLink ? { link: targetOf(name, linkpath ?? header.link, type) } : place;
    if (!this.#members.has(name)) this.#count(name);
    if ('link' in member) this.#count(member.link);
    this.#members.set(name, member);
  }

  find(name: string): MemberLocation | undefined {
    let member = this.#members.get(name);
    for (let links = 0; member && 'link' in member && links < MOST_LINKS; links++)
      member = this.#members.get(member.link);
    return member && !('link' in member) ? member : undefined;
  }

  #count({ length }: string): void {
    this.#characters += length;
    if (this.#characters > MOST_NAMES) throw invalid('The archive has too many names.');
  }
}

/** Within the archive: a symbolic link is relative to its folder, a hard link to the top. */
function targetOf(name: string, link: string, type: string): string {
  const from = type === '2' ? posix.dirname(`/${name}`) : '/';
  return posix.resolve(from, link).slice(1);
}
