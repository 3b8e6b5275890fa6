// Wires `svc sandbox list --local` and `svc sandbox clean --local` to the configuration and the providers of this machine.
import { loadProcessConfig } from '../config/process-config.ts';
import { ServiceError } from '../domain/errors.ts';
import type { LocalDeps } from '../ops/local-sandboxes.ts';
import { silentProviders } from './doctor.ts';
import { thisOperator } from './operator.ts';

/** `file`: the value of `--config`. Throws as loading the configuration does. */
export function localSandboxes(file: string | undefined): LocalDeps {
  const { config } = loadProcessConfig({ file });
  if (config.database.url !== undefined)
    throw new ServiceError('bad_request', 'A server with database.url runs no sandboxes on its own host.', {
      remedy: 'Use svc sandbox list, which also shows sandboxes of workers.',
    });
  const operator = thisOperator();
  return {
    database: config.database.path,
    clock: operator.clock,
    openProviders: (instance) => silentProviders(operator, config, instance),
  };
}
