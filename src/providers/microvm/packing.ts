// Unpacks what distributions pack kernels and modules in: gzip and LZ4 here, the rest by the machine's own tools.
import { constants } from 'node:buffer';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ServiceError } from '../../domain/errors.ts';
import type { Host } from '../../host/host.ts';
import { unpackLz4 } from './lz4.ts';

const UNPACK_MS = 60_000;

/** First bytes of each. */
const PACKINGS = {
  gzip: '1f8b08',
  lz4: '02214c18',
  xz: 'fd377a585a00',
  zstd: '28b52ffd',
  bzip2: '425a68',
  lzma: '5d0000',
} as const;
export type Packing = keyof typeof PACKINGS;

/** The program that unpacks it, and the suffix that it requires. */
const TOOLS: Partial<Record<Packing, { program: string; suffix: string }>> = {
  xz: { program: 'xz', suffix: 'xz' },
  lzma: { program: 'xz', suffix: 'lzma' },
  zstd: { program: 'zstd', suffix: 'zst' },
  bzip2: { program: 'bzip2', suffix: 'bz2' },
};

export function packingOf(bytes: Buffer): Packing | undefined {
  const start = bytes.toString('hex', 0, 8);
  return (Object.keys(PACKINGS) as Packing[]).find((name) => start.startsWith(PACKINGS[name]));
}

interface Packed {
  packing: Packing;
  payload: Buffer;
  /** Bytes that have to come out; undefined when it is not known, and for LZ4 it must be. */
  size: number | undefined;
  /** The most that may come out. */
  maxBytes: number;
}

/** Throws `provider_error` for damaged input and when the tool for it is missing. */
export async function unpack(host: Host, packed: Packed): Promise<Buffer> {
  const bytes = await unpacked(host, packed);
  if (bytes.length > packed.maxBytes || (packed.size !== undefined && bytes.length !== packed.size))
    throw damaged(packed.packing);
  return bytes;
}

async function unpacked(host: Host, { packing, payload, size, maxBytes }: Packed): Promise<Buffer> {
  if (packing === 'lz4') return unpackLz4(payload, size ?? 0);
  if (packing !== 'gzip') return byTool(host, { packing, payload, maxBytes });
  const maxOutputLength = Math.min(maxBytes, constants.MAX_LENGTH);
  return promisify(gunzip)(payload, { maxOutputLength }).catch((error: unknown) => {
    throw damaged(packing, error);
  });
}

interface ForTool {
  packing: Packing;
  payload: Buffer;
  maxBytes: number;
}

/** Uses files, since the output is not text. `prlimit` bounds it: a tool does not. */
async function byTool(host: Host, { packing, payload, maxBytes }: ForTool): Promise<Buffer> {
  const tool = TOOLS[packing];
  const program = tool && (await host.which(tool.program));
  const prlimit = await host.which('prlimit');
  if (!tool || !program || !prlimit) throw missing(packing, program ? 'prlimit' : tool?.program);
  const folder = await mkdtemp(join(tmpdir(), 'svc-unpack-'));
  try {
    const path = join(folder, 'file');
    await writeFile(`${path}.${tool.suffix}`, payload, { mode: 0o600 });
    const bounded = [`--fsize=${maxBytes}`, program, '-d', '-q', `${path}.${tool.suffix}`];
    const { code } = await host.run(prlimit, bounded, { timeoutMs: UNPACK_MS });
    if (code !== 0) throw damaged(packing);
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function missing(packing: Packing, program: string | undefined): ServiceError {
  return new ServiceError('provider_error', `A kernel or module for microVMs is packed in ${packing}.`, {
    remedy: `Install ${program ?? packing}, or unpack the file that providers.microvm.kernel_path names.`,
  });
}

function damaged(packing: Packing, cause?: unknown): ServiceError {
  return new ServiceError(
    'provider_error',
    `A kernel or module for microVMs is not a complete ${packing} file.`,
    {
      cause,
      remedy: 'Install the kernel package again.',
    },
  );
}
