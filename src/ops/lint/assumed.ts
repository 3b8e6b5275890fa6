// Secrets that lint is told to take as given: `--assume-env SVC_AUTH_API_KEY`, or the key `auth.api_key`.
import { ServiceError } from '../../domain/errors.ts';
import { SECRET_PATHS } from '../../schema/config-keys.ts';
import { envName } from '../../schema/config-walk.ts';

/** Key paths for keys or variables. Throws `bad_request` for what is no secret. */
export function assumedPaths(names: readonly string[]): string[] {
  return names.map((name) => {
    const path = SECRET_PATHS.find((each) => each === name || envName(each) === name);
    if (path === undefined)
      throw new ServiceError('bad_request', '--assume-env names no secret of the configuration.', {
        remedy: `It takes ${SECRET_PATHS.map(envName).join(', ')}.`,
      });
    return path;
  });
}
