// The files of the console, as scripts/build-console.js left them: each plain and compressed. A name is looked up in the
// manifest and never joined to a path that a caller chose.
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

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
  type: string;
  etag: string;
  encoding: 'br' | 'gzip' | undefined;
  read(): Promise<Buffer>;
}

export interface Assets {
  manifest: Pick<Manifest, 'entry' | 'style' | 'preload'>;
  /** The file of this name in the best encoding that the caller accepts. */
  find(name: string, accepted: string): Asset | undefined;
}

const SUFFIXES = { br: '.br', gzip: '.gz' } as const;

/** Undefined where the package was built without the console. */
export function openAssets(folder: string): Assets | undefined {
  const path = join(folder, 'manifest.json');
  if (!existsSync(path)) return undefined;
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const files = new Map(Object.entries(manifest.files));
  return {
    manifest,
    find(name, accepted) {
      const file = files.get(name);
      if (!file) return undefined;
      const encoding = file.encodings.find((one) => accepts(accepted, one));
      const suffix = encoding === undefined ? '' : SUFFIXES[encoding];
      return {
        type: file.type,
        etag: `"${file.sha256.slice(0, 32)}${suffix}"`,
        encoding,
        read: () => readFile(join(folder, `${name}${suffix}`)),
      };
    },
  };
}

/** A weight of zero refuses an encoding (RFC 9110 12.5.3). */
function accepts(header: string, encoding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return name === encoding && !parameters.some((text) => /^q=0(?:\.0*)?$/.test(text));
  });
}
