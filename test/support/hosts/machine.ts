// A sound machine for the doctor, with what a test says is wrong with it.
import type { Partially } from '../../../src/config/flag-layer.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { realClock } from '../../../src/host/clock.ts';
import type { DoctorDeps } from '../../../src/ops/doctor/check.ts';
import type { ProbeReport, RuntimeListing } from '../../../src/providers/provider.ts';
import { providerSet } from '../../../src/providers/registry.ts';
import type { Config } from '../../../src/schema/config.ts';
import type { ProviderKind } from '../../../src/schema/provider.ts';
import type { TemplateImage, ValidKey } from '../../../src/store/offline-records.ts';
import { SCHEMA_VERSION } from '../../../src/store/sqlite/migrate.ts';
import { type FakeHostFacts, fakeHost } from '../fakes/host.ts';
import { FAKE_START, fakeIds, seededRandom } from '../fakes/ports.ts';
import { type TrialFault, trialProvider } from '../fakes/trial-provider.ts';

export interface Machine {
  host?: FakeHostFacts;
  /** Laid over the files, folders and programs of the sound machine; undefined takes one away. */
  files?: Record<string, string | Buffer | undefined>;
  programs?: FakeHostFacts['programs'];
  config?: Partially<Config>;
  /** Files that secrets of the configuration were read from, by key. */
  secretPaths?: Record<string, string>;
  nodeVersion?: string;
  now?: number;
  production?: boolean;
  lint?: { errors: number; warnings: number };
  /** Names of findings that are not ok, of a provider's probe. */
  findings?: Partial<Record<ProviderKind, string>>;
  fault?: { kind: ProviderKind; step: TrialFault };
  /** What the service's own instance runs, beside what its database knows. */
  strays?: Partial<Record<ProviderKind, RuntimeListing[]>>;
  /** Shared templates that carry an environment. */
  sharedSecrets?: string[];
  /** Stored templates; container accepts only `alpine`. */
  templates?: TemplateImage[];
  /** Named keys that are valid. */
  keys?: ValidKey[];
  /** Warnings of a sandbox on a small image. */
  imageWarnings?: string[];
  clock?: Clock;
  signal?: AbortSignal;
}

export const DATABASE = '/var/lib/svc/svc.db';
/** images.path, on a disk of its own. */
export const IMAGES = '/images';
const SERVICE = { id: '5e41ce00-0000-4000-8000-000000000000', key: '00' };

const FINDINGS: Record<ProviderKind, string[]> = {
  container: ['engine', 'runtime', 'network', 'agent', 'limits', 'image', 'link'],
  userspace: ['runner', 'limits', 'python3', 'network'],
  microvm: ['monitor', 'kernel', 'agent', 'images', 'accelerator'],
  hosted: ['backend'],
  custom: ['backend', 'inventory'],
};

/** A probe stops at what it cannot do without. */
function reportOf(kind: ProviderKind, wrong: string | undefined): ProbeReport {
  const names = ['engine', 'runner', 'backend'].includes(wrong ?? '') ? [wrong as string] : FINDINGS[kind];
  const findings = names.map((name) => ({ name, ok: name !== wrong, message: `About the ${name}.` }));
  const healthy = wrong === undefined || ['limits', 'image', 'link', 'python3'].includes(wrong);
  return { healthy, findings };
}

/** The head of a database file, as SQLite writes it. */
export function databaseHead({ version = SCHEMA_VERSION, application = 0x73766364 } = {}): Buffer {
  const head = Buffer.alloc(100);
  head.write('SQLite format 3\0', 'latin1');
  head.writeUInt32BE(version, 60);
  head.writeUInt32BE(application, 68);
  return head;
}

const SOUND_FILES: Record<string, string | Buffer> = {
  '/proc/self/limits':
    'Max processes             96000                96000                processes\nMax open files            1024                 524288               files\n',
  '/proc/self/mountinfo': '30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  '/proc/self/cgroup': '0::/system.slice/svc.service\n',
  '/proc/sys/user/max_user_namespaces': '96000\n',
  [DATABASE]: databaseHead(),
};

export function machine(wrong: Machine = {}): DoctorDeps {
  const files = Object.entries({ ...SOUND_FILES, ...wrong.files }).filter(
    ([, content]) => content !== undefined,
  );
  const host = fakeHost({
    folders: ['/var/lib/svc'],
    programs: {
      timedatectl: { stdout: 'yes\n' },
      runc: { stdout: 'runc version 1.3.3\n' },
      containerd: { stdout: 'containerd github.com/containerd/containerd 2.2.0 x\n' },
      dockerd: { stdout: 'Docker version 28.2.2, build x\n' },
      bwrap: { stdout: 'bubblewrap 0.11.0\n' },
      zstd: {},
      ...wrong.programs,
    },
    files: Object.fromEntries(files) as Record<string, string>,
    disks: { [IMAGES]: {} },
    ...wrong.host,
  });
  return {
    host,
    clock: wrong.clock ?? { ...realClock(), now: () => wrong.now ?? FAKE_START },
    ids: fakeIds(),
    random: seededRandom(),
    nodeVersion: wrong.nodeVersion ?? '20.20.0',
    production: wrong.production ?? false,
    signal: wrong.signal ?? new AbortController().signal,
    load: () => ({ ...loaded(wrong.config), secretPaths: new Map(Object.entries(wrong.secretPaths ?? {})) }),
    lint: ([file]) => ({
      ...{ file: file?.name ?? '', production: false, usable: true, known: 0, mended: 0, findings: [] },
      ...{ errors: 0, warnings: 0, ...wrong.lint },
    }),
    openProviders: async (_, { id }) => {
      const [strays, fault] = id === SERVICE.id ? [wrong.strays] : [undefined, wrong.fault];
      const kinds: ProviderKind[] = ['container', 'userspace', 'microvm', 'hosted', 'custom'];
      return providerSet(
        kinds.map((kind) =>
          trialProvider({
            kind,
            report: reportOf(kind, wrong.findings?.[kind]),
            runtimes: strays?.[kind] ?? [],
            fault: fault?.kind === kind ? fault.step : undefined,
          }),
        ),
      );
    },
    tryImage: async () => wrong.imageWarnings ?? ['memory_mb limits each process, not their sum.'],
    openPostgres: () => {
      throw new Error('The sound machine has a database file.');
    },
    sharedSecrets: async () => wrong.sharedSecrets ?? [],
    templateImages: async () => wrong.templates ?? [],
    namedKeys: async () => wrong.keys ?? [],
    knownRuntimes: async () => ({
      instance: SERVICE,
      names: new Set(['sb-known.1']),
      expires_at: new Map(),
    }),
  };
}

/** As from a file, so that lint has something to judge. */
function loaded(flags: Partially<Config> = {}) {
  const place = { cwd: '/nonexistent', home: '/nonexistent', uid: 0, isTerminal: false, env: {} };
  const config = {
    ...flags,
    images: { path: IMAGES, ...flags.images },
    database: { ...(flags.database?.url === undefined && { path: DATABASE }), ...flags.database },
  };
  return { ...loadConfig({ ...place, flags: config }), files: [{ name: 'svc.yaml', path: '/etc/svc.yaml' }] };
}
