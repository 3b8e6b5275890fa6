// The sections of a bundle: what each collects, and when it is left out.
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { freemem, loadavg, release, uptime } from 'node:os';
import { dirname } from 'node:path';
import type { Client } from '../../client/client.ts';
import { givenPath } from '../../config/config-file.ts';
import { valueAt } from '../../config/flag-layer.ts';
import type { ConfigReading } from '../../config/load.ts';
import { sourceText } from '../../config/setting.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { SectionId } from '../../schema/bundle.ts';
import { CONFIG_KEYS } from '../../schema/config-keys.ts';
import type { DoctorReport } from '../../schema/doctor.ts';
import type { LintReport } from '../../schema/lint.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { newestEvents } from '../../store/sqlite/offline-reads.ts';
import { inspectPostgres, newestPostgresEvents } from '../db/inspect-postgres.ts';
import { judgeConfiguration } from '../lint/lint.ts';

export interface BundleSources {
  clock: Clock;
  host: Host;
  programVersion: string;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The configuration, as far as it can be read. */
  reading: ConfigReading;
  /** Examines this machine; absent when it is not wanted. */
  doctor?: (() => Promise<DoctorReport>) | undefined;
  /** The server to ask; absent when it is not wanted. */
  client?: Client | undefined;
}

export interface Section {
  id: SectionId;
  title: string;
  /** Why it is not collected; undefined when it is. */
  skipped?(sources: BundleSources): string | undefined;
  /** Facts fit for JSON, not yet redacted. What it throws is noted in the index. */
  collect(sources: BundleSources): Promise<unknown>;
}

/** Names of variables only, never their values. */
const PROGRAM: Section = {
  id: 'program',
  title: 'Version and runtime',
  collect: async ({ programVersion, env }) => ({
    version: programVersion,
    node: process.version,
    versions: { v8: process.versions.v8, uv: process.versions.uv, openssl: process.versions.openssl },
    platform: process.platform,
    arch: process.arch,
    variables: Object.keys(env)
      .filter((name) => name.startsWith('SVC_') || name.startsWith('NODE_'))
      .sort(),
  }),
};

const PROGRAMS = ['bwrap', 'unshare', 'proot', 'docker', 'podman', 'runsc', 'qemu-system-x86_64'];

/** No names of users or of the machine itself. */
const HOST: Section = {
  id: 'host',
  title: 'This machine',
  collect: async ({ host, reading }) => ({
    system: systemName(),
    kernel: release(),
    uptime_seconds: Math.round(uptime()),
    root: host.uid === 0,
    cpus: host.cpus,
    load: loadavg(),
    memory_mb: host.memoryMb,
    free_memory_mb: Math.round(freemem() / 1024 / 1024),
    cgroups: firstLines('/proc/self/cgroup', 20),
    limits: firstLines('/proc/self/limits', 20),
    programs: Object.fromEntries(
      await Promise.all(PROGRAMS.map(async (name) => [name, (await host.which(name)) ?? null])),
    ),
    database_disk: diskOf(reading),
  }),
};

function systemName(): string | undefined {
  const line = firstLines('/etc/os-release', 40).find((each) => each.startsWith('PRETTY_NAME='));
  return line?.slice('PRETTY_NAME='.length).replaceAll('"', '');
}

function firstLines(path: string, most: number): string[] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .map((line) => line.trimEnd())
      .filter(Boolean)
      .slice(0, most);
  } catch {
    return [];
  }
}

function diskOf({ config }: BundleSources['reading']): object | undefined {
  try {
    const { bavail, blocks, bsize, type } = statfsSync(dirname(config.database.path));
    return { size_bytes: blocks * bsize, free_bytes: bavail * bsize, type: `0x${type.toString(16)}` };
  } catch {
    return undefined;
  }
}

/** Lists the keys of the schema: other keys cannot get in. For secrets it lists only whether they are set. */
const CONFIGURATION: Section = {
  id: 'configuration',
  title: 'The effective configuration by key, without secrets',
  collect: async ({ reading }) => ({
    file: reading.files[0]?.name ?? null,
    files: reading.files.map(({ name }) => name),
    problems: [...reading.unusable, ...reading.secretFiles, ...reading.contradictions].map(
      ({ message }) => message,
    ),
    // A list: as names of an object, keys of secrets would be taken for the secrets.
    settings: CONFIG_KEYS.map(({ path, secret }) => settingOf(reading, path, secret)),
  }),
};

function settingOf({ config, sources }: BundleSources['reading'], path: string, secret: boolean): object {
  const value = valueAt(config, path);
  const source = sourceText(sources.get(path) ?? { layer: 'default' });
  if (secret) return { name: path, source, set: value !== undefined };
  return { name: path, source, value: value ?? null };
}

/** The lines of the file are left out. */
const LINT: Section = {
  id: 'lint',
  title: 'The lint report of the configuration file for production',
  skipped: ({ reading }) => (reading.files.length === 0 ? 'no configuration file is in use' : undefined),
  collect: async ({ reading, cwd, env }) =>
    withoutLines(judgeConfiguration({ files: reading.files.map(givenPath), cwd, env })),
};

function withoutLines(report: LintReport): object {
  const findings = report.findings.map(({ source: _, ...finding }) => finding);
  return { ...report, findings };
}

const DOCTOR: Section = {
  id: 'doctor',
  title: 'The doctor report of this machine',
  skipped: ({ doctor }) => (doctor ? undefined : 'not requested; use --include-doctor'),
  collect: async ({ doctor }) => doctor?.(),
};

const MOST_EVENTS = 500;

const pathOf = ({ reading }: BundleSources) => reading.config.database?.path ?? '';
const urlOf = ({ reading }: BundleSources) => reading.config.database?.url;
const skipped = (sources: BundleSources) => {
  if (urlOf(sources) !== undefined) return undefined;
  return existsSync(pathOf(sources)) ? undefined : 'the database does not exist yet';
};

/** Read from the database, also when no server runs. Rows themselves stay out. */
const DATABASE: Section = {
  id: 'database',
  title: 'Statistics of the database',
  skipped,
  collect: async (sources) => {
    const url = urlOf(sources);
    return url === undefined ? inspectDatabase(pathOf(sources)) : inspectPostgres(url, sources.clock);
  },
};

const EVENTS: Section = {
  id: 'events',
  title: `The newest ${MOST_EVENTS} events`,
  skipped,
  collect: async (sources) => {
    const url = urlOf(sources);
    return url === undefined
      ? newestEvents(pathOf(sources), MOST_EVENTS)
      : newestPostgresEvents(url, { clock: sources.clock, most: MOST_EVENTS });
  },
};

const SERVER: Section = {
  id: 'server',
  title: 'Health, diagnostics and the newest log lines of the server',
  skipped: ({ client }) => (client ? undefined : 'not requested; use --include-server'),
  collect: async ({ client }) => ({
    health: await client?.system.health(),
    diagnostics: await client?.admin.diagnostics({ logs: true }),
  }),
};

export const SECTIONS: readonly Section[] = [
  PROGRAM,
  HOST,
  CONFIGURATION,
  LINT,
  DOCTOR,
  DATABASE,
  EVENTS,
  SERVER,
];
