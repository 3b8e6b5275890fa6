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
