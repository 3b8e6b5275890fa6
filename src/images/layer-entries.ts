// Reads the records of a layer (agent/src/image/records.h), and works out the files that its folder must have. Paths and
// targets are latin1, a character a byte.
import { createReadStream } from 'node:fs';
import { ServiceError } from '../domain/errors.ts';

const HEAD = 28;
const PIECE_BYTES = 256 * 1024;
/** The unpacker bounds paths and attributes by less. */
const MOST_TEXT = 1024 * 1024;
const TYPES = [
  undefined,
  'file',
  'folder',
  'link',
  'device',
  'device',
  'device',
  'whiteout',
  'opaque',
] as const;
const IMPLIED = 1;
const HARD_LINK = 2;

export interface LayerEntry {
  type: 'file' | 'folder' | 'link' | 'device' | 'whiteout' | 'opaque';
  /** A folder that no entry of the archive names. */
  isImplied: boolean;
  /** `target` is the path of the file, which an earlier entry made. */
  isHardLink: boolean;
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
  size: number;
  path: string;
  target: string;
  attributes: readonly (readonly [string, string])[];
}

/** In the order of the archive. Throws `provider_error` for damaged records. */
export async function* layerEntries(records: AsyncIterable<Buffer>): AsyncGenerator<LayerEntry> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of records) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const reader = new Reader(rest);
    for (let entry = reader.next(); entry; entry = reader.next()) yield entry;
    rest = rest.subarray(reader.done);
  }
  if (rest.length > 0) throw damaged();
}

function damaged(): ServiceError {
  return new ServiceError('provider_error', 'The records of a layer of the image are damaged.', {
    remedy: 'Remove the image, and pull or import it again.',
  });
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  /** Bytes of complete entries. */
  done = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Undefined when the rest is not a complete entry. */
  next(): LayerEntry | undefined {
    const head = this.#take(HEAD);
    const path = head && this.#text();
    const target = path === undefined ? undefined : this.#text();
    const attributes = target === undefined ? undefined : this.#attributes();
    if (!head || path === undefined || target === undefined || !attributes) return undefined;
    this.done = this.#at;
    const type = TYPES[head[0] as number];
    if (type === undefined) throw damaged();
    const flags = head[1] as number;
    return {
      type,
      isImplied: (flags & IMPLIED) !== 0,
      isHardLink: (flags & HARD_LINK) !== 0,
      mode: head.readUInt16LE(2),
      uid: head.readUInt32LE(4),
      gid: head.readUInt32LE(8),
      mtimeNs: head.readBigInt64LE(12),
      size: Number(head.readBigUInt64LE(20)),
      path,
      target,
      attributes,
    };
  }

  #take(size: number): Buffer | undefined {
    if (this.#at + size > this.#bytes.length) return undefined;
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  #text(): string | undefined {
    const size = this.#take(4)?.readUInt32LE();
    if (size !== undefined && size > MOST_TEXT) throw damaged();
    return size === undefined ? undefined : this.#take(size)?.toString('latin1');
  }

  #attributes(): [string, string][] | undefined {
    const count = this.#take(2)?.readUInt16LE();
    const found: [string, string][] = [];
    while (count !== undefined && found.length < count) {
      const name = this.#text();
      const value = name === undefined ? undefined : this.#text();
      if (name === undefined || value === undefined) return undefined;
      found.push([name, value]);
    }
    return count === undefined ? undefined : found;
  }
}

/** What a layer's folder has at a path. Names of one file lead to the same object. */
export type LayerFile = Pick<
  LayerEntry,
  'mode' | 'uid' | 'gid' | 'mtimeNs' | 'size' | 'target' | 'attributes'
> & {
  type: 'file' | 'folder' | 'link';
};

/** Files, folders and links by path; the root has the empty path when the archive names it. Throws as `layerEntries`. */
export async function layerFiles(file: string): Promise<Map<string, LayerFile>> {
  const files = new Map<string, LayerFile>();
  const records = createReadStream(file, { highWaterMark: PIECE_BYTES });
  for await (const entry of layerEntries(records)) putEntry(files, entry);
  return files;
}

function putEntry(files: Map<string, LayerFile>, entry: LayerEntry): void {
  const { type, path, isHardLink, target } = entry;
  if (type === 'whiteout' || type === 'opaque') return;
  const made = isHardLink ? files.get(target) : undefined;
  const before = files.get(path);
  if (made !== undefined && before === made) return;
  if (before?.type === 'folder' && type !== 'folder') removeBelow(files, path);
  if (type === 'device') files.delete(path);
  else files.set(path, made ?? { ...entry, type });
}

/** An archive that replaces a folder is rare, so its files are searched for. */
function removeBelow(files: Map<string, LayerFile>, path: string): void {
  for (const name of files.keys()) if (name.startsWith(`${path}/`)) files.delete(name);
}
