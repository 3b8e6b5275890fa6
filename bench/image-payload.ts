// An image for the rows of pulls, made of generated files, and a registry on loopback that has it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seeded } from './seeded.ts';

const WORDS = 4096;
const KIBIBYTE = 1024;
const PART_MB = 16;
const LARGE = 'large';
/** Each has a kilobyte. */
const LINES = 4096;
const FEW_LINES = 40;

export interface PayloadLayer {
  /** The packed file. */
  file: string;
  digest: string;
  diffId: string;
  size: number;
}

/** A layer of so many files, which together have about so many bytes and pack to about a third. */
export async function makeLayer(
  folder: string,
  name: string,
  { files, bytes }: { files: number; bytes: number },
): Promise<PayloadLayer> {
  const root = join(folder, `${name}-root`);
  const next = generator(name);
  const words = Array.from({ length: WORDS }, () =>
    next()
      .toString(36)
      .slice(2, (4 + next() * 8) | 0),
  );
  const text = () => words[(next() ** 4 * WORDS) | 0] as string;
  const lines = Array.from({ length: LINES }, () => line(text));
  const each = Math.ceil(bytes / files / KIBIBYTE);
  for (let n = 0; n < files; n += 1) {
    const below = join(root, name, `${n % 97}`);
    if (n < 97) mkdirSync(below, { recursive: true });
    // Two of three lines are of few, and come again within the window of the packer.
    const content = Array.from(
      { length: Math.max(1, (each * 2 * next()) | 0) },
      (_, at) => lines[(next() * (at % 3 < 2 ? FEW_LINES : LINES)) | 0],
    );
    writeFileSync(join(below, `${n}`), content.join(''));
  }
  return packLayer(folder, name, root);
}

/** A layer of so many megabytes of the same text. */
export async function makeLargeLayer(folder: string, megabytes: number): Promise<PayloadLayer> {
  const root = join(folder, 'large-root');
  mkdirSync(root);
  const next = generator(LARGE);
  const part = Buffer.from(Array.from({ length: 1_000_000 }, () => 32 + next() * 64));
  for (let n = 0; n < megabytes; n += PART_MB)
    writeFileSync(join(root, `${n}`), Buffer.concat(Array.from({ length: PART_MB }, () => part)));
  return packLayer(folder, LARGE, root);
}

/**
 * Leaves `root` for the caller to remove at the end: for minutes after files were removed, ext4 checks each of their inodes
 * whenever it creates a file. The large layer stays plain: packing it takes a minute.
 */
async function packLayer(folder: string, name: string, root: string): Promise<PayloadLayer> {
  const tar = join(folder, `${name}.tar`);
  execFileSync('tar', ['-cf', tar, '--sort=name', '--owner=0', '--group=0', '--mtime=@0', '-C', root, '.']);
  const diffId = await digestOfFile(tar);
  const isPlain = name === LARGE;
  if (!isPlain) execFileSync('gzip', ['-6', '-n', tar]);
  const packed = isPlain ? tar : `${tar}.gz`;
  const digest = isPlain ? diffId : await digestOfFile(packed);
  const file = join(folder, digest);
  renameSync(packed, file);
  return { file, digest, diffId, size: statSync(file).size };
}

function line(text: () => string): string {
  let made = '';
  while (made.length < KIBIBYTE) made += `${text()} `;
  return made.slice(0, KIBIBYTE);
}

/** Writes the documents of an image of these layers beside them; its tag is `latest`. */
export function putManifest(folder: string, path: string, layers: readonly PayloadLayer[]): void {
  const put = (value: unknown, mediaType: string) => {
    const bytes = Buffer.from(JSON.stringify(value));
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
    writeFileSync(join(folder, digest), bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const rootfs = { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) };
  const config = put(
    { architecture, os: 'linux', config: {}, rootfs },
    'application/vnd.oci.image.config.v1+json',
  );
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const list = layers.map(({ digest, size }) => ({
    mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    digest,
    size,
  }));
  const manifest = put({ schemaVersion: 2, mediaType, config, layers: list }, mediaType);
  writeFileSync(
    join(folder, `${path.replace('/', '-')}-latest`),
    readFileSync(join(folder, manifest.digest)),
  );
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return `sha256:${hash.digest('hex')}`;
}

/** Seeded by a name. */
const generator = (name: string) => seeded(createHash('sha256').update(name).digest().readInt32LE());

/** Serves the files of a folder as a registry does, in a process of its own. */
const SERVE = `
const { createReadStream, readFileSync, statSync } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');
const folder = process.argv[1];
const server = createServer((asked, answer) => {
  const [, path, kind, name] = /^\\/v2\\/(.*)\\/(manifests|blobs)\\/([a-z0-9:]+)$/.exec(asked.url) ?? [];
  if (!name) return answer.writeHead(asked.url === '/v2/' ? 200 : 404).end();
  const isTag = kind === 'manifests' && !name.startsWith('sha256:');
  const file = join(folder, isTag ? path.replace('/', '-') + '-' + name : name);
  const type = kind === 'manifests' ? 'application/vnd.oci.image.manifest.v1+json' : 'application/octet-stream';
  answer.writeHead(200, { 'content-type': type, 'content-length': statSync(file).size });
  if (asked.method === 'HEAD') answer.end();
  else if (kind === 'manifests') answer.end(readFileSync(file));
  else createReadStream(file, { highWaterMark: 65536 }).pipe(answer);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

export interface LoopbackRegistry {
  /** 127.0.0.1 with its port; it speaks plain HTTP. */
  host: string;
  close(): void;
}

export async function serveFolder(folder: string): Promise<LoopbackRegistry> {
  const child: ChildProcess = spawn(process.execPath, ['-e', SERVE, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.stdout?.once('data', (text: Buffer) => resolve(Number(text)));
  });
  return { host: `127.0.0.1:${port}`, close: () => void child.kill() };
}
