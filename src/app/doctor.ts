// Wires the doctor on this machine: the only file that picks its host, clock and providers.
import { givenPath } from '../config/config-file.ts';
import { loadProcessConfig } from '../config/process-config.ts';
import type { Logger } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import { realIds } from '../host/ids.ts';
import { packageRoot } from '../host/package-root.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';
import type { DoctorDeps } from '../ops/doctor/check.ts';
import { lintConfig } from '../ops/lint/lint.ts';
import type { ProviderSet } from '../providers/provider.ts';
import { providerRegistry } from '../providers/registry.ts';
import type { Config } from '../schema/config.ts';
import { SECRET_PATHS } from '../schema/config-keys.ts';
import { envName } from '../schema/config-walk.ts';
import type { Operator } from './operator.ts';
import { processLedger } from './process-ledger.ts';

/** Drops provider logs because the report contains their findings. */
export const SILENT: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => SILENT,
};

/** The providers of `config` on this machine, for commands that report by themselves what they find. */
export function silentProviders(
  { host, clock, random }: Pick<Operator, 'host' | 'clock' | 'random'>,
  config: Config,
  instance: Parameters<DoctorDeps['openProviders']>[1],
): Promise<ProviderSet> {
  return providerRegistry({
    host,
    clock,
    random,
    instance,
    ledger: processLedger(config, clock),
    config: config.providers,
    images: config.images,
    defaultImage: config.defaults.image,
    logger: SILENT,
    packageRoot: packageRoot(),
    runtimeDir: process.env.XDG_RUNTIME_DIR,
  });
}

export interface DoctorHere {
  /** The value of `--config`. */
  file: string | undefined;
  production: boolean;
  signal: AbortSignal;
}

export function doctorHere({ file, production, signal }: DoctorHere): DoctorDeps {
  const [host, clock, random] = [realHost(), realClock(), realRandom()];
  return {
    host,
    clock,
    random,
    production,
    signal,
    ids: realIds(random),
    nodeVersion: process.versions.node,
    load: () => loadProcessConfig({ file }),
    lint: (files) =>
      lintConfig({ files: files.map(givenPath), cwd: process.cwd(), production, assumed: givenSecrets() }),
    openProviders: (config, instance) => silentProviders({ host, clock, random }, config, instance),
    knownRuntimes: async (path) => {
      if (!(await host.stat(path))) return undefined;
      const { readKnownRuntimes } = await import('../store/sqlite/offline-reads.ts');
      return readKnownRuntimes(path);
    },
    sharedSecrets: async (path) => {
      if (!(await host.stat(path))) return [];
      const { readSharedSecrets } = await import('../store/sqlite/offline-reads.ts');
      return readSharedSecrets(path);
    },
    templateImages: async (path) => {
      if (!(await host.stat(path))) return [];
      const { readTemplateImages } = await import('../store/sqlite/offline-reads.ts');
      return readTemplateImages(path);
    },
    namedKeys: async (path, now) => {
      if (!(await host.stat(path))) return [];
      const { readValidKeys } = await import('../store/sqlite/offline-reads.ts');
      return readValidKeys(path, now);
    },
  };
}

/** The environment of the service is that of this process. */
const givenSecrets = () => SECRET_PATHS.filter((path) => process.env[envName(path)] !== undefined);
