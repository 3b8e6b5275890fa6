// The disk for what a guest changes: a sparse file with an empty ext4. It is formatted once a size and copied without its
// holes, which takes a tenth of formatting it each time.
import { mkdtemp, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Host } from '../../host/host.ts';
import { once } from '../userspace/state.ts';
import { unwritable } from './record.ts';

const MEBIBYTE = 1024 * 1024;
const FORMAT_MS = 60_000;
/** It lives as long as the guest: no journal, no reserved blocks, tables made when used. mke2fs(8) */
const OPTIONS = [
  ...['-q', '-F', '-t', 'ext4', '-m', '0'],
  ...['-O', '^has_journal,^resize_inode,^metadata_csum,uninit_bg'],
  ...['-E', 'lazy_itable_init=1,nodiscard'],
];

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
  const pieces = once(() => formatted(host, folder, mb));
  return {
    make: async (path) => {
      const blank = await pieces();
      await writePieces(path, mb * MEBIBYTE, blank).catch((cause: unknown) => {
        throw unwritable(cause);
      });
    },
  };
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

async function formatted(host: Host, folder: string, mb: number): Promise<Piece[]> {
  const program = await host.which('mke2fs');
  if (!program) throw noFormatter();
  const place = await mkdtemp(join(folder, '.blank-')).catch((cause: unknown) => {
    throw unwritable(cause);
  });
  try {
    const path = join(place, 'disk');
    const { code, stderr } = await host.run(program, [...OPTIONS, path, `${mb}M`], { timeoutMs: FORMAT_MS });
    if (code !== 0) throw noFormatter(new Error(stderr));
    return await piecesOf(path);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** What is not zero, in steps of a mebibyte. */
async function piecesOf(path: string): Promise<Piece[]> {
  const file = await open(path, 'r');
  const pieces: Piece[] = [];
  try {
    const { size } = await file.stat();
    for (let at = 0; at < size; at += MEBIBYTE) {
      const bytes = Buffer.alloc(Math.min(MEBIBYTE, size - at));
      await file.read(bytes, 0, bytes.length, at);
      const [start, end] = [bytes.findIndex((byte) => byte !== 0), bytes.findLastIndex((byte) => byte !== 0)];
      if (start >= 0) pieces.push({ at: at + start, bytes: bytes.subarray(start, end + 1) });
    }
    return pieces;
  } finally {
    await file.close();
  }
}

function noFormatter(cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'The disk of a virtual machine could not be formatted.', {
    cause,
    remedy: 'Install e2fsprogs (mke2fs), or set providers.microvm.overlay_mb to 0.',
  });
}
