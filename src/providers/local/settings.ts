// The settings of a launch (agent/src/base/settings.h): records "key=value", each ended by a NUL byte.
import { ServiceError } from '../../domain/errors.ts';

export type Setting = [key: string, value: string];

/** SETTINGS_MAX of settings.h. */
const MAX_BYTES = 65_535;

/** Throws `provider_error` for a value that cannot be written, such as a path with a NUL, and for more than launch takes. */
export function encodeSettings(settings: readonly Setting[]): Buffer {
  for (const [, value] of settings) if (value.includes('\0')) throw unwritable();
  const bytes = Buffer.from(settings.map(([key, value]) => `${key}=${value}\0`).join(''));
  if (bytes.length > MAX_BYTES) throw unwritable();
  return bytes;
}

function unwritable(): ServiceError {
  return new ServiceError('provider_error', 'The settings of the sandbox cannot be passed to its launcher.', {
    remedy: 'Check the paths in providers.userspace.',
  });
}

const MEBIBYTE = 1024 * 1024;
const MAX_RING = 8 * MEBIBYTE;

/** The bytes for kept output: a sixteenth of the memory, at most 8 MiB. */
export const ringSetting = (memoryMb: number): Setting => [
  'ring_budget',
  `${Math.min(MAX_RING, (memoryMb * MEBIBYTE) / 16)}`,
];

/** The environment of every command of the sandbox; `more` replaces what it names. */
export function environmentSettings(
  user: string,
  home: string,
  more: Record<string, string> = {},
): Setting[] {
  const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  const values = { PATH, HOME: home, USER: user, LOGNAME: user, LANG: 'C.UTF-8', ...more };
  return Object.entries(values).map(([key, value]): Setting => ['env', `${key}=${value}`]);
}
