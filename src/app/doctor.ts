// Wires the doctor on this machine: the only file that picks its host, clock and providers.
import { givenPath } from '../config/config-file.ts';
import { loadProcessConfig } from '../config/process-config.ts';
import { replicaConfig } from '../config/replica-config.ts';
import { ServiceError } from '../domain/errors.ts';
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
import type { KnownRuntimes, TemplateImage, ValidKey } from '../store/offline-records.ts';
import { PostgresExam } from '../store/postgres/examine.ts';
import { tryImage } from './image-trial.ts';
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
  const ids = realIds(random);
  const openProviders: DoctorDeps['openProviders'] = (config, instance) =>
    silentProviders({ host, clock, random }, config, instance);
  return {
    host,
    clock,
    random,
    production,
    signal,
    ids,
    nodeVersion: process.versions.node,
    load: () => replicaConfig(loadProcessConfig({ file })),
    lint: (files) =>
      lintConfig({ files: files.map(givenPath), cwd: process.cwd(), production, assumed: givenSecrets() }),
    openProviders,
    tryImage: (order, signal) => tryImage({ host, clock, random, ids, openProviders }, order, signal),
    openPostgres: ({ url }) => {
      if (url === undefined) throw new ServiceError('bad_request', 'database.url is not set.');
      return new PostgresExam(url, clock);
    },
    ...recordsHere(host, clock),
  };
}

/** The records of a database file, or of PostgreSQL. */
function recordsHere(
  host: Operator['host'],
  clock: Operator['clock'],
): Pick<DoctorDeps, 'knownRuntimes' | 'sharedSecrets' | 'templateImages' | 'namedKeys'> {
  const reading = async <T>(database: Config['database'], none: T, reads: Reads<T>): Promise<T> => {
    const { path, url } = database;
    if (url !== undefined) {
      const exam = new PostgresExam(url, clock);
      return reads
        .postgres(await import('../store/postgres/offline-reads.ts'), exam)
        .finally(() => exam.close());
    }
    if (!(await host.stat(path))) return none;
    return reads.file(await import('../store/sqlite/offline-reads.ts'), path);
  };
  return {
    knownRuntimes: (database) =>
      reading<KnownRuntimes | undefined>(database, undefined, {
        file: (from, path) => from.readKnownRuntimes(path),
        postgres: (from, exam) => from.readKnownRuntimes(exam),
      }),
    sharedSecrets: (database) =>
      reading<string[]>(database, [], {
        file: (from, path) => from.readSharedSecrets(path),
        postgres: (from, exam) => from.readSharedSecrets(exam),
      }),
    templateImages: (database) =>
      reading<TemplateImage[]>(database, [], {
        file: (from, path) => from.readTemplateImages(path),
        postgres: (from, exam) => from.readTemplateImages(exam),
      }),
    namedKeys: (database, now) =>
      reading<ValidKey[]>(database, [], {
        file: (from, path) => from.readValidKeys(path, now),
        postgres: (from, exam) => from.readValidKeys(exam, now),
      }),
  };
}

interface Reads<T> {
  file(from: typeof import('../store/sqlite/offline-reads.ts'), path: string): T;
  postgres(from: typeof import('../store/postgres/offline-reads.ts'), exam: PostgresExam): Promise<T>;
}

/** The environment of the service is that of this process. */
const givenSecrets = () => SECRET_PATHS.filter((path) => process.env[envName(path)] !== undefined);
