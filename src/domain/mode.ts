// File modes as octal text: 3 or 4 digits in; out 3 digits, 4 when a special bit is set
// (docs/design/api.md#conventions).
import { ServiceError } from './errors.ts';

/** `644`, `0644` or `4755` as a number. Throws `bad_request` naming `field` for anything else. */
export function parseMode(text: string, field: string): number {
  if (!/^[0-7]{3,4}$/.test(text))
    throw new ServiceError('bad_request', `${field} is not a file mode.`, {
      remedy: 'Write it in octal, like 644 or 0755.',
    });
  return Number.parseInt(text, 8);
}

/** The permission and special bits of `mode`; its other bits (the file type) are dropped. */
export function formatMode(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(3, '0');
}
