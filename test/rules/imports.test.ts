// Who may import whom (src/README.md). Types count too: a shape from a folder below is a dependency on it.
import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, posix } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { cyclicGroups } from '../../scripts/house/graph.js';
import { specifierOf } from '../../scripts/house/sources.js';
import { packageRoot } from '../../src/host/package-root.ts';
import { eachNode, parsed, placeOf, type SourceFile, sourceFiles } from '../support/checks/source-files.ts';

interface Allowance {
  /** Folders of src/ or beside it, or single files of them. */
  folders: readonly string[];
  packages: readonly string[];
  /** Folders of which only types may come. */
  types?: readonly string[];
}

const ABOVE_APP = [
  'schema',
  'domain',
  'config',
  'redact',
  'host',
  'events',
  'store',
  'agent',
  'egress',
  'images',
  'providers',
  'control',
  'http',
  'client',
  'docgen',
  'worker',
  'ops',
  'mcp',
];
const TABLE: Record<string, Allowance> = {
  schema: { folders: [], packages: ['typebox', 'ajv'] },
  domain: { folders: ['schema'], packages: [] },
  config: { folders: ['schema', 'domain'], packages: ['yaml', 'ajv', 'fastest-levenshtein'] },
  redact: { folders: ['schema', 'domain'], packages: [] },
  host: { folders: ['domain'], packages: ['execa'] },
  events: { folders: ['schema', 'domain'], packages: [] },
  store: { folders: ['schema', 'domain'], packages: [] },
  'store/sqlite': {
    // Programs of ours take the kernel's lock on the file itself, and check all pages.
    folders: [
      ...['schema', 'domain', 'store'],
      ...[
        'host/file-lock.ts',
        'host/make-folders.ts',
        'host/package-root.ts',
        'host/run.ts',
        'agent/binary.ts',
      ],
    ],
    packages: ['better-sqlite3'],
  },
  'store/postgres': { folders: ['schema', 'domain', 'store'], packages: ['pg'] },
  agent: { folders: ['schema', 'domain'], packages: [] },
  // Its unpacker is a program of the agent.
  images: { folders: ['schema', 'domain', 'host', 'agent/binary.ts'], packages: [] },
  // It receives a sandbox's inside.
  egress: { folders: ['schema', 'domain'], packages: [], types: ['agent'] },
  'images/registry': { folders: ['schema', 'domain', 'host', 'providers/outgoing'], packages: [] },
  providers: { folders: ['schema', 'domain', 'host', 'agent'], packages: [] },
  'providers/userspace': { folders: ['schema', 'domain', 'host', 'agent', 'images'], packages: [] },
  'providers/microvm': { folders: ['schema', 'domain', 'host', 'agent', 'images'], packages: [] },
  'providers/outgoing': { folders: ['schema', 'domain'], packages: ['undici'] },
  'providers/hosted': { folders: ['schema', 'domain', 'host', 'agent'], packages: ['e2b'] },
  'providers/container': { folders: ['schema', 'domain', 'host', 'agent'], packages: ['dockerode'] },
  control: {
    folders: [
      'schema',
      'domain',
      'redact',
      'events',
      'store/store.ts',
      'store/seam',
      'providers/provider.ts',
      'providers/reading.ts',
      'agent/sessions.ts',
    ],
    packages: [],
    types: ['agent', 'providers/registry.ts', 'egress/egress.ts'],
  },
  'control/metrics/metrics.ts': { folders: ['schema', 'domain', 'control'], packages: ['prom-client'] },
  http: {
    folders: ['schema', 'domain', 'redact', 'events', 'control'],
    packages: ['fastify', '@fastify/busboy', 'ajv', 'typebox', 'ws'],
  },
  client: {
    folders: ['schema', 'domain', 'http/paths.ts', 'http/socket/socket-protocol.ts', 'host/clock.ts'],
    packages: ['undici', 'ws'],
  },
  'client/web': {
    folders: ['domain/errors.ts', 'host/clock.ts'],
    packages: ['buffer'],
  },
  mcp: {
    folders: ['schema', 'domain', 'client', 'host/package-root.ts'],
    packages: ['typebox', '@modelcontextprotocol/server'],
    types: ['http/mcp'],
  },
  docgen: { folders: ['schema', 'http'], packages: [] },
  worker: {
    folders: [
      'schema',
      'domain',
      'agent/sessions.ts',
      'providers/provider.ts',
      'providers/reading.ts',
      'http',
    ],
    packages: ['fastify'],
    // It receives a journal, a connection pool and a sandbox's inside.
    types: ['agent', 'store/seam', 'providers/outgoing', 'egress/egress.ts'],
  },
  ops: {
    folders: ['schema', 'domain', 'config', 'redact', 'host', 'store', 'images', 'providers', 'client'],
    packages: [],
    // A sandbox's inside, as the provider seam hands it out.
    types: ['agent'],
  },
  app: { folders: ABOVE_APP, packages: [] },
  bench: {
    folders: [
      ...['app', 'ops', 'config', 'host', 'schema', 'domain', 'client'],
      // Rows that judge one part build that part by itself.
      ...['store', 'control', 'events', 'redact', 'images', 'agent/binary.ts', 'agent/sessions.ts'],
      ...['providers/provider.ts', 'providers/local/cgroup-host.ts', 'providers/local/cgroup-usage.ts'],
      'cli/batch.ts',
      'egress/certificates.ts',
      'test/support/memory-store',
    ],
    packages: ['better-sqlite3', 'e2b', 'pg', 'undici'],
  },
  cli: {
    folders: ['schema', 'domain', 'config', 'redact', 'client', 'host/clock.ts'],
    packages: ['@oclif/core', 'chalk', 'listr2', 'string-width'],
  },
  'cli/fast-path': { folders: ['cli', 'ops', 'schema', 'app/run-server.ts'], packages: ['@oclif/core'] },
  commands: {
    folders: ['cli', 'app', 'ops', 'mcp', 'bench', 'config', 'docgen', 'schema', 'domain'],
    packages: ['@oclif/core'],
  },
};

/** Inside control/: the rooms that each room may import, lowest first. Files at the top build the control plane and may import them all. */
const CONTROL: Record<string, readonly string[]> = {
  async: [],
  api: [],
  keys: ['api'],
  records: ['api'],
  runtime: ['async', 'records'],
  queue: ['async', 'records'],
  pool: ['api', 'async', 'records', 'runtime'],
  workers: ['api', 'async', 'runtime'],
  access: ['api', 'async', 'records', 'runtime'],
  exec: ['api', 'async', 'records', 'access'],
  spawn: ['api', 'async', 'records', 'runtime', 'queue', 'workers'],
  templates: ['api', 'records', 'spawn'],
  prewarm: ['api', 'async', 'records', 'runtime', 'workers', 'spawn'],
  system: ['api', 'records', 'runtime', 'workers'],
  sandboxes: ['api', 'records', 'runtime', 'spawn', 'workers'],
  usage: ['api', 'async', 'records', 'runtime'],
  metrics: ['api', 'records', 'runtime', 'queue', 'workers', 'prewarm', 'usage'],
  maintenance: ['async', 'keys', 'records', 'runtime', 'pool', 'workers', 'prewarm', 'system'],
};
const MOST_CONTROL_ENTRIES = 21;

/** Folders of src/providers/ and the other folders there that each may import: kinds of provider never share code directly. */
const PROVIDER_ROOMS: Record<string, readonly string[]> = {
  backends: [],
  container: ['local'],
  custom: ['backends', 'outgoing'],
  hosted: ['backends', 'outgoing'],
  local: [],
  microvm: ['local'],
  outgoing: [],
  remote: ['outgoing'],
  userspace: ['local'],
};

interface Import {
  from: SourceFile;
  /** A path relative to the package, or a package name. */
  to: string;
  isPackage: boolean;
  isType: boolean;
  place: string;
}

const known = new WeakMap<SourceFile, Import[]>();

function importsOf(file: SourceFile): Import[] {
  const found = known.get(file) ?? readImports(file);
  known.set(file, found);
  return found;
}

function readImports(file: SourceFile): Import[] {
  const found: Import[] = [];
  eachNode(file.tree, (node) => {
    const specifier = specifierOf(node);
    if (specifier === undefined) return;
    const isPackage = !specifier.startsWith('.');
    const to = isPackage ? packageName(specifier) : posix.join(dirname(file.path), specifier);
    found.push({ from: file, to, isPackage, isType: isTypeOnly(node), place: placeOf(file, node) });
  });
  return found;
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  return ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

const packageName = (specifier: string) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

/** Rows of folders beside src/. */
const BESIDE = ['bench', 'commands'];

const belowSrc = (path: string) => path.replace(/^src\//, '');

/** The row of the table that a file belongs to: the longest that names it or a folder above it. */
function rowOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  if (top !== 'src') return top;
  const rows = Object.keys(TABLE).filter((row) => !BESIDE.includes(row) && isWithin(path, [row]));
  return rows.sort((a, b) => b.length - a.length)[0] ?? second;
}

const isWithin = (path: string, places: readonly string[] = []) =>
  places.some((place) => belowSrc(path) === place || belowSrc(path).startsWith(`${place}/`));

/** Why the table forbids an import, or undefined. */
function reasonAgainst({ from, to, isPackage, isType }: Import): string | undefined {
  const row = rowOf(from.path);
  const allowance = TABLE[row];
  if (!allowance) return `${row} is not a folder of the table`;
  if (isPackage) {
    if (isBuiltin(to) || allowance.packages.includes(to)) return undefined;
    return `${row} may use the packages ${allowance.packages.join(', ') || 'none'}`;
  }
  if (!existsSync(join(packageRoot(), to))) return 'there is no such file';
  const providerReason = reasonInProviders(from.path, to);
  if (providerReason !== undefined) return providerReason;
  const isOwn = row !== 'commands' && rowOf(to).split('/')[0] === row.split('/')[0];
  if (isOwn || isWithin(to, allowance.folders) || (isType && isWithin(to, allowance.types))) return undefined;
  return `${row} may import ${allowance.folders.join(', ') || 'nothing'}`;
}

/** Why a folder of src/providers/ may not import another one there; files beside the folders are open to all. */
function reasonInProviders(from: string, to: string): string | undefined {
  const roomOf = (path: string) => /^src\/providers\/([^/]+)\//.exec(path)?.[1];
  const [room, other] = [roomOf(from), roomOf(to)];
  if (room === undefined || other === undefined || room === other) return undefined;
  const allowed = PROVIDER_ROOMS[room];
  if (!allowed) return `src/providers/${room} is not a folder of the table`;
  return allowed.includes(other)
    ? undefined
    : `providers/${room} may import ${allowed.join(', ') || 'no other folder'} of providers/`;
}

const faultsOf = (file: SourceFile) =>
  importsOf(file).flatMap((each) => {
    const reason = reasonAgainst(each);
    return reason === undefined ? [] : [`${each.place} imports ${each.to}: ${reason}`];
  });

const files = sourceFiles('src', 'commands', 'bench');

it('every import is allowed by the table', () => {
  expect(files.flatMap(faultsOf)).toEqual([]);
});

/** `src/control/spawn/plan.ts` → `spawn`; undefined for a file that is not in a room of control/. */
const roomOf = (path: string) => /^src\/control\/([^/]+)\/[^/]+\.ts$/.exec(path)?.[1];

const crossings = (file: SourceFile) =>
  importsOf(file).flatMap(({ to, place }) => {
    const [room, other] = [roomOf(file.path), roomOf(to)];
    if (room === undefined || !to.startsWith('src/control/') || room === other) return [];
    if (other !== undefined && CONTROL[room]?.includes(other)) return [];
    return [
      `${place} imports ${to}: control/${room} may import ${CONTROL[room]?.join(', ') || 'no other room'}`,
    ];
  });

it('rooms of control/ import only the rooms below them', () => {
  const inControl = files.filter(({ path }) => path.startsWith('src/control/'));
  expect(inControl.flatMap(crossings)).toEqual([]);
  const rooms = inControl.map(({ path }) => roomOf(path) ?? path);
  const top = [...new Set(rooms)];
  expect(top.filter((room) => !(room in CONTROL))).toEqual([
    'src/control/build-runtime.ts',
    'src/control/build-spawning.ts',
    'src/control/create.ts',
  ]);
  expect(top.length).toBeLessThanOrEqual(MOST_CONTROL_ENTRIES);
  const order = Object.keys(CONTROL);
  const upwards = order.flatMap((room, at) =>
    (CONTROL[room] ?? []).filter((other) => order.indexOf(other) >= at).map((other) => `${room} → ${other}`),
  );
  expect(upwards).toEqual([]);
});

/** The entry points of `svc/client` and of the scoped package, the only files that re-export. */
const PACKAGE_FACES = ['src/client/package.ts', 'src/client/scoped-package.ts'];

it('no file but an entry point re-exports', () => {
  const handedOn = files.flatMap((file) => {
    const nodes: ts.Node[] = [];
    eachNode(file.tree, (node) => {
      if (ts.isExportDeclaration(node) && node.moduleSpecifier && !PACKAGE_FACES.includes(file.path))
        nodes.push(node);
    });
    return nodes.map((node) => placeOf(file, node));
  });
  expect(handedOn).toEqual([]);
});

it('relative imports carry their extension', () => {
  const bare = files.flatMap((file) =>
    importsOf(file).filter(({ to, isPackage }) => !isPackage && !to.endsWith('.ts')),
  );
  expect(bare.map(({ place }) => place)).toEqual([]);
});

const graph = new Map(
  files.map((file) => [
    file.path,
    importsOf(file)
      .filter(({ isPackage }) => !isPackage)
      .map(({ to }) => to),
  ]),
);

it('no file imports itself through others, types counted', () => {
  expect(cyclicGroups(graph)).toEqual([]);
});

it.each([
  ['src/control/queue/x.ts', "import type { SpawnPlan } from '../spawn/plan.ts';"],
  ['src/control/runtime/x.ts', "import { chooseProvider } from '../spawn/choose.ts';"],
  ['src/control/access/x.ts', "import { createControlPlane } from '../create.ts';"],
])('the table of control/ refuses in %s: %s', (path, text) => {
  expect(crossings(parsed(path, text))).toHaveLength(1);
});

it.each([
  ['src/schema/x.ts', "import { ServiceError } from '../domain/errors.ts';"],
  ['src/domain/x.ts', "import type { Host } from '../host/host.ts';"],
  ['src/control/x.ts', "import fastify from 'fastify';"],
  ['src/control/x.ts', "import { openStore } from '../store/sqlite/open.ts';"],
  ['src/http/x.ts', "const { request } = await import('undici');"],
  ['src/cli/x.ts', "type X = import('../http/server.ts').X;"],
  ['src/store/x.ts', "import Database from 'better-sqlite3';"],
  ['commands/x.ts', "import Serve from './serve.ts';"],
  ['src/helpers/x.ts', "import { join } from 'node:path';"],
  ['src/domain/x.ts', "import { x } from './no-such-file.ts';"],
  ['src/providers/container/x.ts', "import type { HostedDeps } from '../hosted/deps.ts';"],
  ['src/providers/outgoing/x.ts', "import { labelsFor } from '../backends/labels.ts';"],
])('the table refuses in %s: %s', (path, text) => {
  expect(faultsOf(parsed(path, text))).toHaveLength(1);
});
