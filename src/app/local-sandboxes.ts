// Wires `svc sandbox list --local` and `svc sandbox clean --local` to the configuration and the providers of this machine.
import { loadProcessConfig } from '../config/process-config.ts';
import type { LocalDeps } from '../ops/local-sandboxes.ts';
import { silentProviders } from './doctor.ts';
import { thisOperator } from './operator.ts';

/** `file`: the value of `--config`. Throws as loading the configuration does. */
export function localSandboxes(file: string | undefined): LocalDeps {
  const { config } = loadProcessConfig({ file });
  const operator = thisOperator();
  return {
    database: config.database.path,
    clock: operator.clock,
    openProviders: (instance) => silentProviders(operator, config, instance),
  };
}
