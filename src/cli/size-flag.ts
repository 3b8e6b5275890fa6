// A size as people write it: 512MiB, 2GiB, or bytes.
import { ServiceError } from '../domain/errors.ts';

const UNITS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const BLOCK = 4096;
const LEAST = 16 * 1024 ** 2;
const MOST = 16 * 1024 ** 4;

/** Bytes, in whole blocks of 4096. Throws `bad_request` for what is no size of a disk. */
export function parseDiskSize(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,15})\s*(?:([KMGT])(?:i?B)?)?$/.exec(text.trim()) ?? [];
  const bytes = Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (bytes >= LEAST && bytes <= MOST) return Math.ceil(bytes / BLOCK) * BLOCK;
  throw new ServiceError('bad_request', '--size is no size of a disk.', {
    remedy: 'Write it like 512MiB or 2GiB; 16MiB at least.',
  });
}
