// The disk for what a guest changes: a sparse file with an empty ext4. It is formatted once a size and copied without its
// holes, which takes a tenth of formatting it each time.
import { chmod, mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import type { Host } from '../../host/host.ts';
import { findSystemProgram } from '../../host/system-program.ts';
import { unwritable } from './record.ts';

const MEBIBYTE = 1024 * 1024;
const BLOCK = 4096;
/** Finding what is in a larger one takes longer than a few formats. */
const MOST_COPIED_MB = 4096;
const FORMAT_MS = 60_000;
/** It lives as long as the guest: no journal, no reserved blocks, tables made when used. mke2fs(8) */
const OPTIONS = [
  ['-q', '-F', '-t', 'ext4', '-m', '0'],
  ['-O', '^has_journal,^resize_inode,^metadata_csum,uninit_bg'],
  ['-E', 'lazy_itable_init=1,nodiscard'],
].flat();

const COPY_MS = 30_000;

interface Piece {
  at: number;
  bytes: Buffer;
}

export interface Overlays {
  /** Writes an empty disk to `path`, which must not exist. Throws `provider_error`, or `resource_limit` for a full disk. */
  make(path: string): Promise<void>;
}

/** Disks of `mb`; `folder` holds the first one while it is formatted. Touches the host only when used. */
export function overlaySource(host: Host, folder: string, mb: number): Overlays {
  if (mb > MOST_COPIED_MB) return { make: (path) => format(host, path, mb) };
  const pieces = once(() => blank(host, folder, mb));
  return {
    make: async (path) => {
      const wanted = await pieces();
      await writePieces(path, mb * MEBIBYTE, wanted).catch((cause: unknown) => {
        throw unwritable(cause);
      });
    },
  };
}

/**
 * A copy that leaves holes holes, as our user's alone. Throws `provider_error`, `resource_limit` for a full disk, the
 * signal's reason on abort.
 */
export async function copySparse(
  host: Host,
  { from, to }: { from: string; to: string },
  signal: AbortSignal,
): Promise<void> {
  const args = ['--sparse=always', '--reflink=auto', '--no-preserve=mode', from, to];
  const program = (await host.which('cp')) ?? 'cp';
  const { code, stderr } = await host.run(program, args, { timeoutMs: COPY_MS, signal });
  if (code !== 0) throw unwritable(Object.assign(new Error(stderr), { code: codeOf(stderr) }));
  await chmod(to, 0o600);
}

/** cp has words for it alone; it runs without a locale. */
function codeOf(words: string): string | undefined {
  return words.includes('No space left') ? 'ENOSPC' : undefined;
}

async function writePieces(path: string, size: number, pieces: readonly Piece[]): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.truncate(size);
    for (const { at, bytes } of pieces) await file.write(bytes, 0, bytes.length, at);
  } finally {
    await file.close();
  }
}

async function blank(host: Host, folder: string, mb: number): Promise<Piece[]> {
  const place = await mkdtemp(join(folder, '.blank-')).catch((cause: unknown) => {
    throw unwritable(cause);
  });
  try {
    const path = join(place, 'disk');
    await format(host, path, mb);
    return await piecesOf(path);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

async function format(host: Host, path: string, mb: number): Promise<void> {
  const program = await findSystemProgram(host, 'mke2fs');
  if (!program) throw noFormatter();
  const { code, stderr } = await host.run(program, [...OPTIONS, path, `${mb}M`], { timeoutMs: FORMAT_MS });
  if (code !== 0) throw noFormatter(new Error(stderr));
}

async function piecesOf(path: string): Promise<Piece[]> {
  const file = await open(path, 'r');
  const pieces: Piece[] = [];
  const [bytes, zeros] = [Buffer.alloc(MEBIBYTE), Buffer.alloc(MEBIBYTE)];
  try {
    for (let at = 0; ; at += MEBIBYTE) {
      const { bytesRead } = await file.read(bytes, 0, MEBIBYTE, at);
      if (bytesRead === 0) return pieces;
      if (bytes.compare(zeros, 0, bytesRead, 0, bytesRead) !== 0)
        pieces.push(...blocksOf(bytes.subarray(0, bytesRead), zeros, at));
    }
  } finally {
    await file.close();
  }
}

function blocksOf(bytes: Buffer, zeros: Buffer, start: number): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < bytes.length; at += BLOCK) {
    const block = bytes.subarray(at, at + BLOCK);
    if (!block.equals(zeros.subarray(0, block.length)))
      pieces.push({ at: start + at, bytes: Buffer.from(block) });
  }
  return pieces;
}

export function noFormatter(cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'Could not format the disk of a virtual machine.', {
    cause,
    remedy: 'Install e2fsprogs (mke2fs), or set providers.microvm.overlay_mb to 0.',
  });
}
