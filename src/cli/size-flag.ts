// Parses a disk size: 512MiB, 2GiB, or bytes.
import { ServiceError } from '../domain/errors.ts';

const UNITS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const BLOCK = 4096;
const LEAST = 16 * 1024 ** 2;
const MOST = 16 * 1024 ** 4;

/** Bytes, rounded up to blocks of 4096. Throws `bad_request` for an invalid size. */
export function parseDiskSize(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,15})\s*(?:([KMGT])(?:i?B)?)?$/.exec(text.trim()) ?? [];
  const bytes = Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (bytes >= LEAST && bytes <= MOST) return Math.ceil(bytes / BLOCK) * BLOCK;
  throw new ServiceError('bad_request', '--size is not a valid disk size.', {
    remedy: 'Write it like 512MiB or 2GiB; at least 16MiB.',
  });
}
