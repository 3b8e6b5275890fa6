// Wires `svc sandbox list --local` and `svc sandbox clean --local` to the configuration and the providers of this machine.
import { loadProcessConfig } from '../config/process-config.ts';
import { packageRoot } from '../host/package-root.ts';
import type { LocalDeps } from '../ops/local-sandboxes.ts';
import { providerRegistry } from '../providers/registry.ts';
import { SILENT } from './doctor.ts';
import { thisOperator } from './operator.ts';
import { processLedger } from './process-ledger.ts';

/** `file`: the value of `--config`. Throws as loading the configuration does. */
export function localSandboxes(file: string | undefined): LocalDeps {
  const { config } = loadProcessConfig({ file });
  const { host, clock, random } = thisOperator();
  return {
    database: config.database.path,
    clock,
    openProviders: (instance) =>
      providerRegistry({
        host,
        clock,
        random,
        instance,
        ledger: processLedger(config, clock),
        config: config.providers,
        defaultImage: config.defaults.image,
        logger: SILENT,
        packageRoot: packageRoot(),
        runtimeDir: process.env.XDG_RUNTIME_DIR,
      }),
  };
}
