// What a check of `svc doctor` is. A check looks and reports; it changes nothing that stays. One that throws has failed.
import { createHash } from 'node:crypto';
import type { LoadedConfig } from '../../config/load.ts';
import { databaseName } from '../../domain/database-address.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { ProbeReport, Provider, ProviderSet } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { CheckResult, GroupResult, Verdict } from '../../schema/doctor.ts';
import type { LintReport } from '../../schema/lint.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { KnownRuntimes, TemplateImage, ValidKey } from '../../store/offline-records.ts';
import type { PostgresExam } from '../../store/postgres/examine.ts';

export interface Finding {
  verdict: Verdict;
  /** What was seen, a sentence. */
  message: string;
  /** What to do, a sentence. */
  remedy?: string;
}

export interface Check {
  /** Its name in its group. */
  name: string;
  title: string;
  /** 5 s unless given. */
  deadlineMs?: number;
  look(context: CheckContext, signal: AbortSignal): Promise<Finding>;
}

export interface CheckGroup {
  id: string;
  title: string;
  /** Skipped with this reason where there is one. */
  unless?(config: Config): string | undefined;
  checks: readonly Check[];
  /** Runs when all checks are over, however they went, also when none ran. */
  finish?(context: CheckContext): Promise<void>;
}

export const pass = (message: string): Finding => ({ verdict: 'pass', message });
export const warn = (message: string, remedy?: string): Finding => ({
  verdict: 'warn',
  message,
  ...(remedy !== undefined && { remedy }),
});
export const fail = (message: string, remedy?: string): Finding => ({
  verdict: 'fail',
  message,
  ...(remedy !== undefined && { remedy }),
});
export const skip = (message: string): Finding => ({ verdict: 'skip', message });

/** `fail` where strangers rely on it, else `warn`. */
export const failInProduction = ({ production }: CheckContext, message: string, remedy?: string): Finding =>
  production ? fail(message, remedy) : warn(message, remedy);

const MOST_NAMED = 20;

/** The first names, and how many more there are. */
export function named(all: readonly string[]): string {
  const more = all.length > MOST_NAMED ? ` and ${all.length - MOST_NAMED} more` : '';
  return `${all.slice(0, MOST_NAMED).join(', ')}${more}`;
}

type Database = Config['database'];

export type Instance = KnownRuntimes['instance'];

export interface ImageTrial {
  config: Config;
  instance: Instance;
  folder: string;
}

export interface DoctorDeps {
  host: Host;
  clock: Clock;
  ids: Ids;
  random: Random;
  /** The version of Node, such as 20.19.0. */
  nodeVersion: string;
  production: boolean;
  /** Ends the check that runs, and leaves the others out. */
  signal: AbortSignal;
  /** The configuration, or the throw that says why there is none. */
  load(): LoadedConfig;
  /** Judges the files that were loaded. */
  lint(files: LoadedConfig['files']): LintReport;
  /** Providers of an instance; the caller closes them. */
  openProviders(config: Config, instance: Instance): Promise<ProviderSet>;
  /**
   * Runs a userspace sandbox on a small image, in a store of its own in `folder`. Leaves nothing. Returns the warnings of the
   * sandbox; rejects as imports and spawns do.
   */
  tryImage(order: ImageTrial, signal: AbortSignal): Promise<string[]>;
  /** Connects when it is asked; the caller closes it. Throws without `database.url`. */
  openPostgres(database: Database): PostgresExam;
  /** Reads the database without changing it; undefined when there is none. */
  knownRuntimes(database: Database): Promise<KnownRuntimes | undefined>;
  /** Names of shared templates that carry `env`, as `knownRuntimes` reads; none without a database. */
  sharedSecrets(database: Database): Promise<string[]>;
  /** The images of all templates, as `knownRuntimes` reads; none without a database. */
  templateImages(database: Database): Promise<TemplateImage[]>;
  /** The named keys that are valid at `now`, in ms since 1970, as `knownRuntimes` reads; none without a database. */
  namedKeys(database: Database, now: number): Promise<ValidKey[]>;
}

export interface CheckContext extends Omit<DoctorDeps, 'tryImage'> {
  loaded: LoadedConfig;
  config: Config;
  /** A provider under the doctor's own instance: it does not see the service's runtimes, nor the service its. */
  provider(kind: ProviderKind): Promise<Provider>;
  /** The database of `database.url`. */
  postgres(): PostgresExam;
  /** Its report, asked once. */
  probe(kind: ProviderKind, signal: AbortSignal): Promise<ProbeReport>;
  /** As in the deps, with the configuration and instance of the doctor. */
  tryImage(folder: string, signal: AbortSignal): Promise<string[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

export function openContext(deps: DoctorDeps, loaded: LoadedConfig): CheckContext {
  const { config } = loaded;
  const probes = new Map<ProviderKind, Promise<ProbeReport>>();
  let opened: Promise<ProviderSet> | undefined;
  let exam: PostgresExam | undefined;
  const provider = async (kind: ProviderKind) => {
    opened ??= deps.openProviders(keepingNothing(config), doctorInstance(deps, config));
    return (await opened).get(kind);
  };
  return {
    ...deps,
    loaded,
    config,
    provider,
    // It closes its providers, and with them what belongs to the instance.
    tryImage: (folder, signal) =>
      deps.tryImage({ config, instance: doctorInstance(deps, config, 'image trial'), folder }, signal),
    postgres: () => (exam ??= deps.openPostgres(config.database)),
    probe: (kind, signal) => {
      const report = probes.get(kind) ?? provider(kind).then((one) => one.probe(signal));
      probes.set(kind, report);
      return report;
    },
    close: async () => {
      await Promise.all([(await opened?.catch(() => undefined))?.close(), exam?.close()]);
    },
  };
}

/** A saved guest is for later ones, and as large as its memory: the doctor's single one would be left behind for nobody. */
function keepingNothing(config: Config): Config {
  const { microvm } = config.providers;
  return { ...config, providers: { ...config.providers, microvm: { ...microvm, snapshots: false } } };
}

/** The same at each run on a database, also when its password changes, so that a doctor finds what a killed one left behind. */
function doctorInstance({ random }: DoctorDeps, { database }: Config, what = 'doctor'): Instance {
  const hex = createHash('sha256')
    .update(`${what} of ${databaseName(database)}`)
    .digest('hex');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return { id: parts.join('-'), key: random.bytes(32).toString('hex') };
}

/** The result of a group, whose checks are the rules of conformance, too. */
export function groupResult(
  { id, title }: Pick<CheckGroup, 'id' | 'title'>,
  checks: CheckResult[],
): GroupResult {
  const ms = rounded(checks.reduce((sum, check) => sum + check.ms, 0));
  return { id, title, verdict: worst(checks), ms, checks };
}

const ORDER: readonly Verdict[] = ['skip', 'pass', 'warn', 'fail'];

/** The gravest verdict; `skip` of none. */
export function worst(all: readonly { verdict: Verdict }[]): Verdict {
  const ranks = all.map(({ verdict }) => ORDER.indexOf(verdict));
  return ORDER[Math.max(0, ...ranks)] ?? 'skip';
}

/** Tenths of a millisecond, as reports show them. */
export const rounded = (ms: number) => Math.round(ms * 10) / 10;
