// The files of the console, as scripts/build-console.js left them: each plain and compressed. A name is looked up in the
// manifest and never joined to a path that a caller chose. Headers are made once, and what is small is read once.
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assetHeaders } from './policy.ts';

/** What the build says of a file. */
interface BuiltFile {
  type: string;
  sha256: string;
  encodings: readonly ('br' | 'gzip')[];
}

interface Manifest {
  /** The script and the style of the page, and scripts that the first one imports. */
  entry: string;
  style: string;
  preload: readonly string[];
  files: Record<string, BuiltFile>;
}

export interface Asset {
  etag: string;
  /** All but `Content-Encoding`: an answer without a body has none. */
  headers: Readonly<Record<string, string>>;
  encoding: 'br' | 'gzip' | undefined;
  /** Bytes at once where they are kept. Callers do not change them. */
  read(): Buffer | Promise<Buffer>;
}

export interface Assets {
  manifest: Pick<Manifest, 'entry' | 'style' | 'preload'>;
  /** The file of this name in the best encoding that the caller accepts. */
  find(name: string, accepted: string): Asset | undefined;
}

const SUFFIXES = { br: '.br', gzip: '.gz' } as const;
/** Bytes of a file that is kept in memory, and of all of them. */
const MOST_KEPT = 64 * 1024;
const MOST_KEPT_IN_ALL = 512 * 1024;

/** Undefined where the package was built without the console. */
export function openAssets(folder: string): Assets | undefined {
  const path = join(folder, 'manifest.json');
  if (!existsSync(path)) return undefined;
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const files = new Map(Object.entries(manifest.files));
  const made = new Map<string, Asset>();
  const read = keptReader(folder);
  return {
    manifest,
    find(name, accepted) {
      const file = files.get(name);
      if (!file) return undefined;
      const encoding = file.encodings.find((one) => accepts(accepted, one));
      const suffix = encoding === undefined ? '' : SUFFIXES[encoding];
      const stored = `${name}${suffix}`;
      const known = made.get(stored);
      if (known) return known;
      const etag = `"${file.sha256.slice(0, 32)}${suffix}"`;
      const asset = { etag, headers: assetHeaders(file.type, etag), encoding, read: () => read(stored) };
      made.set(stored, asset);
      return asset;
    },
  };
}

/** Reads files of `folder`, small ones once. */
function keptReader(folder: string): (name: string) => Buffer | Promise<Buffer> {
  const kept = new Map<string, Buffer>();
  let size = 0;
  return (name) =>
    kept.get(name) ??
    readFile(join(folder, name)).then((bytes) => {
      if (kept.has(name) || bytes.length > MOST_KEPT || size + bytes.length > MOST_KEPT_IN_ALL) return bytes;
      size += bytes.length;
      kept.set(name, bytes);
      return bytes;
    });
}

/** A weight of zero refuses an encoding (RFC 9110 12.5.3). */
function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return name === encoding && !parameters.some((text) => /^q=0(?:\.0*)?$/.test(text));
  });
}
