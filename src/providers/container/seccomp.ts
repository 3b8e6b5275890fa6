// The seccomp profile as the engine takes it: the text of the file, since the engine may be on another machine.
import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import { SECCOMP_PROFILE } from './seccomp-profile.ts';

const OURS = JSON.stringify(SECCOMP_PROFILE);

/** Undefined is the engine's own profile. Throws `provider_error` for a file that cannot be read or is no JSON. */
export async function seccompProfile(setting: string): Promise<string | undefined> {
  if (setting === 'svc') return OURS;
  if (setting === 'default' || setting === '') return undefined;
  if (setting === 'unconfined') return setting;
  try {
    return JSON.stringify(JSON.parse(await readFile(setting, 'utf8')));
  } catch (cause) {
    throw new ServiceError('provider_error', 'The seccomp profile cannot be read.', {
      cause,
      remedy: 'Check providers.container.seccomp_profile.',
    });
  }
}
