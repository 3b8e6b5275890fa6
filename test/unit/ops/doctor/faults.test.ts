// One table: what is wrong with a machine, and the one check that tells it. All others stay as on a sound machine.
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { planDoctor } from '../../../../src/ops/doctor/doctor.ts';
import type { Verdict } from '../../../../src/schema/doctor.ts';
import type { ValidKey } from '../../../../src/store/offline-records.ts';
import { ioError } from '../../../support/fakes/host.ts';
import { FAKE_START } from '../../../support/fakes/ports.ts';
import { DATABASE, databaseHead, IMAGES, type Machine, machine } from '../../../support/hosts/machine.ts';

async function examine(wrong: Machine = {}, probe = true) {
  const plan = planDoctor(machine(wrong), { only: [], skip: [], probe });
  for (const { checks } of plan.groups) for (const check of checks) await check.run();
  const report = await plan.finish();
  return report.groups.flatMap(({ checks }) => checks);
}

const bad = (verdict: Verdict) => verdict === 'warn' || verdict === 'fail';

/** A folder of images with one, `content` in it now. */
function imagesHolding(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-doctor-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const digest = createHash('sha256').update('what was built').digest('hex');
  const size_bytes = 'what was built'.length;
  mkdirSync(join(folder, 'images'));
  writeFileSync(
    join(folder, 'images', 'debian.json'),
    JSON.stringify({ name: 'debian', digest, size_bytes }),
  );
  writeFileSync(join(folder, 'images', `${digest}.ext4`), content);
  return folder;
}
const whole = imagesHolding('what was built');
const damaged = imagesHolding('what was bui1t');
const microvmOn: Machine = { config: { providers: { microvm: { enabled: true, data_dir: whole } } } };

const listening = { e2b: { listen: '127.0.0.1:7443' }, server: { port: 0 } };
const custom = { enabled: true, base_url: 'http://10.0.0.1' };
const customOn: Machine = { config: { providers: { custom } } };
const hosted = { enabled: true, base_url: 'https://api.internal', api_key: 'e2b_key' };
const hostedOn: Machine = { config: { providers: { hosted } } };

it('a sound machine passes every check', async () => {
  const checks = await examine({
    config: {
      e2b: { listen: '127.0.0.1:7443' },
      providers: {
        custom,
        hosted,
        userspace: { languages: ['python3'], network: 'user' },
        microvm: { enabled: true, data_dir: whole },
      },
    },
  });
  const ofFile = checks.filter(({ id }) => !id.startsWith('postgres.'));
  expect(ofFile.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
  expect(checks.length).toBeGreaterThan(40);
});

const stray = {
  runtime_id: 'x',
  id: 'sb-stray',
  epoch: 1,
  state: 'running',
  created_at: '2026-01-01T00:00:00.000Z',
} as const;
const known = { ...stray, id: 'sb-known' };
/** On this machine, since links are looked at past the host's seam. */
function linkedFile(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'svc-doctor-')), 'svc.db');
  writeFileSync(path, '');
  linkSync(path, `${path}.link`);
  afterAll(() => rmSync(dirname(path), { recursive: true }));
  return path;
}
const keyFacts = (facts: Partial<ValidKey> = {}): ValidKey =>
  Object.assign(
    { name: 'ci', scopes: ['use'] as const, created_at: inDays(-1), expires_at: null, last_used_at: null },
    facts,
  );
function inDays(days: number): string {
  return new Date(FAKE_START + days * 86_400_000).toISOString();
}
const limits = (files: string, processes: string) => ({
  '/proc/self/limits': `Max processes             ${processes}   ${processes}   processes\nMax open files            ${files}   ${files}   files\n`,
});

const imagesOn = (disk: { freeBytes?: number; folders?: string; links?: string }): Machine => ({
  host: { disks: { [IMAGES]: disk } },
});

type Owner = NonNullable<NonNullable<Machine['host']>['owners']>[string];

/** A credential in /keys/mine. */
function credentialIn(file: Owner, folder: Owner = {}): Machine {
  const egress = {
    credentials: { mine: 'secret' },
    credential_terms: { mine: { hosts: ['api.invalid'], owners: ['*'] } },
  };
  return {
    config: { egress },
    secretPaths: { 'egress.credentials.mine': '/keys/mine' },
    files: { '/keys/mine': 'secret' },
    host: { folders: ['/var/lib/svc', '/keys'], owners: { '/keys/mine': file, '/keys': folder } },
  } as unknown as Machine;
}

it('leaves alone a credential whose file is private', async () => {
  const found = (await examine(credentialIn({}))).find(({ id }) => id === 'egress.credentials');
  expect(found).toMatchObject({ verdict: 'pass' });
});

const FAULTS: readonly [what: string, check: string, verdict: Verdict, machine: Machine][] = [
  ['lint finds errors', 'configuration.rules', 'fail', { lint: { errors: 2, warnings: 0 } }],
  ['lint finds warnings', 'configuration.rules', 'warn', { lint: { errors: 0, warnings: 1 } }],
  ['Node is old', 'machine.node', 'fail', { nodeVersion: '20.9.3' }],
  ['the clock is years behind', 'machine.clock', 'fail', { now: Date.UTC(1999, 0, 1) }],
  ['nobody keeps the clock', 'machine.clock', 'warn', { programs: { timedatectl: { stdout: 'no\n' } } }],
  ['few files may be open', 'machine.files', 'warn', { files: limits('256', '96000') }],
  [
    'few files may be open in production',
    'machine.files',
    'fail',
    { files: limits('256', '96000'), production: true, config: { providers: { default: 'container' } } },
  ],
  ['few processes may be', 'machine.processes', 'warn', { files: limits('96000', '64') }],
  ['caps are beyond the memory', 'machine.memory', 'warn', { config: { defaults: { max_sandboxes: 1000 } } }],
  ['no control groups are mounted', 'machine.cgroups', 'warn', { files: { '/proc/self/mountinfo': '' } }],
  ['the path is relative', 'database.folder', 'warn', { config: { database: { path: 'svc.db' } } }],
  [
    'the folder is a file',
    'database.folder',
    'fail',
    { host: { folders: [] }, files: { '/var/lib/svc': 'x' } },
  ],
  [
    'the folder lies below a file',
    'database.folder',
    'fail',
    { host: { folders: ['/'] }, files: { '/var/lib': 'x' } },
  ],
  ['the folder cannot be made', 'database.folder', 'fail', { host: { folders: ['/'], noFolders: true } }],
  ['the folder is not ours', 'database.folder', 'fail', { host: { readOnly: true } }],
  ['the disk is slow', 'database.sync', 'warn', { host: { syncs: [1, 80] } }],
  ['the disk is broken', 'database.sync', 'fail', { host: { syncs: ioError() } }],
  ['little room is left', 'database.space', 'warn', { host: { fileSystem: { freeBytes: 5e8 } } }],
  ['no room is left', 'database.space', 'fail', { host: { fileSystem: { freeBytes: 1e6 } } }],
  ['it is on NFS', 'database.file_system', 'fail', { host: { fileSystem: { type: 0x6969 } } }],
  ['it is in memory', 'database.file_system', 'warn', { host: { fileSystem: { type: 0x01021994 } } }],
  ['it has a hard link', 'database.names', 'fail', { config: { database: { path: linkedFile() } } }],
  ['the image store is not ours', 'images.store', 'warn', imagesOn({ folders: 'EACCES' })],
  ['files cannot have two names', 'images.hard_links', 'warn', imagesOn({ links: 'EPERM' })],
  ['there is little room for images', 'images.space', 'warn', imagesOn({ freeBytes: 1.5e9 })],
  ['there is no room for images', 'images.space', 'warn', imagesOn({ freeBytes: 1e6 })],
  [
    'the kernel has no overlay',
    'images.changes',
    'warn',
    { imageWarnings: ['The image is read-only: this kernel refuses an overlay here.'] },
  ],
  [
    'the kernel has no idmapped mounts',
    'images.changes',
    'warn',
    {
      imageWarnings: ['Files of the image cannot be changed: this kernel has no idmapped mounts here.'],
    },
  ],
  [
    'owners share a secret',
    'database.shared_templates',
    'warn',
    { sharedSecrets: ['py'], config: { auth: { enforce_owner: true } } },
  ],
  [
    'the policy forbids the image of a template',
    'database.template_images',
    'warn',
    {
      templates: [
        { name: 'ok', image: 'alpine', provider: null },
        { name: 'py', image: 'registry.example/py', provider: 'container' },
      ],
    },
  ],
  [
    'no provider has the image of a template',
    'database.template_images',
    'warn',
    { templates: [{ name: 'py', image: 'py', provider: null }] },
  ],
  [
    'a provider does not have the image of a template',
    'database.template_images',
    'warn',
    { templates: [{ name: 'py', image: 'py', provider: 'userspace' }] },
  ],
  ['a key expires within 7 days', 'database.keys', 'warn', { keys: [keyFacts({ expires_at: inDays(6) })] }],
  [
    "an administrator's key was not used for 90 days",
    'database.keys',
    'warn',
    { keys: [keyFacts({ scopes: ['admin'], last_used_at: inDays(-91) })] },
  ],
  [
    "an administrator's key was never used",
    'database.keys',
    'warn',
    { keys: [keyFacts({ scopes: ['admin'], created_at: inDays(-91) })] },
  ],
  ['it is no database', 'database.schema', 'fail', { files: { [DATABASE]: 'hello' } }],
  [
    'it is of another program',
    'database.schema',
    'fail',
    { files: { [DATABASE]: databaseHead({ application: 1 }) } },
  ],
  [
    'it is of a newer version',
    'database.schema',
    'fail',
    { files: { [DATABASE]: databaseHead({ version: 99 }) } },
  ],
  ['the port is taken', 'server.port', 'fail', { host: { portFault: 'EADDRINUSE' } }],
  ['the port is not allowed', 'server.port', 'fail', { host: { portFault: 'EACCES' } }],
  ['the address is not ours', 'server.port', 'fail', { host: { portFault: 'EADDRNOTAVAIL' } }],
  [
    'a port is taken by one that is dead',
    'server.port',
    'fail',
    {
      host: { portFault: 'EADDRINUSE' },
      files: { [`${DATABASE}.lock.json`]: '{"pid":7,"address":"http://127.0.0.1:7423"}' },
    },
  ],
  [
    'the port with TLS is taken',
    'e2b.port',
    'fail',
    { host: { portFault: 'EADDRINUSE' }, config: listening },
  ],
  [
    'the port with TLS is not allowed',
    'e2b.port',
    'fail',
    { host: { portFault: 'EACCES' }, config: listening },
  ],
  [
    'the certificate cannot be read',
    'e2b.certificate',
    'fail',
    { config: { e2b: { ...listening.e2b, cert_file: '/nowhere/c.pem', key_file: '/nowhere/k.pem' } } },
  ],
  [
    'the default provider is off',
    'providers.default',
    'fail',
    { config: { providers: { default: 'container', container: { enabled: false } } } },
  ],
  ['the engine is down', 'container.engine', 'warn', { findings: { container: 'engine' } }],
  ['the runtime is not registered', 'container.runtime', 'warn', { findings: { container: 'runtime' } }],
  ['the network is missing', 'container.network', 'warn', { findings: { container: 'network' } }],
  ['the agent is missing', 'container.agent', 'warn', { findings: { container: 'agent' } }],
  ['the default image is missing', 'container.image', 'warn', { findings: { container: 'image' } }],
  ['the engine does not limit', 'container.limits', 'warn', { findings: { container: 'limits' } }],
  ['agents do not connect', 'probe_container.link', 'warn', { findings: { container: 'link' } }],
  [
    'runc has a hole',
    'container.advisories',
    'warn',
    { programs: { runc: { stdout: 'runc version 1.1.11\n' } } },
  ],
  [
    'runc has a hole in a newer branch',
    'container.advisories',
    'warn',
    { programs: { runc: { stdout: 'runc version 1.3.2\n' } } },
  ],
  [
    'containerd has a hole',
    'container.advisories',
    'warn',
    { programs: { containerd: { stdout: 'containerd github.com/containerd/containerd 1.6.20~ds1 1.6\n' } } },
  ],
  [
    'bubblewrap has a hole',
    'userspace.advisories',
    'warn',
    { programs: { bwrap: { stdout: 'bubblewrap 0.4.0\n' } } },
  ],
  [
    'the library of what connects for sandboxes has a hole',
    'userspace.advisories',
    'warn',
    {
      programs: { slirp4netns: { stdout: 'slirp4netns version 1.2.0\ncommit: 6\nlibslirp: 4.7.0\n' } },
      config: { providers: { userspace: { network: 'user' } } },
    },
  ],
  [
    'namespaces are off',
    'userspace.namespaces',
    'warn',
    { files: { '/proc/sys/user/max_user_namespaces': '0\n' } },
  ],
  [
    'namespaces are for root alone',
    'userspace.namespaces',
    'warn',
    { host: { uid: 1000 }, files: { '/proc/sys/kernel/unprivileged_userns_clone': '0\n' } },
  ],
  [
    'AppArmor keeps namespaces',
    'userspace.namespaces',
    'warn',
    { host: { uid: 1000 }, files: { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n' } },
  ],
  ['no runner works', 'userspace.runner', 'warn', { findings: { userspace: 'runner' } }],
  ['nothing limits', 'userspace.limits', 'warn', { findings: { userspace: 'limits' } }],
  [
    'nothing connects for sandboxes',
    'userspace.network',
    'warn',
    { findings: { userspace: 'network' }, config: { providers: { userspace: { network: 'user' } } } },
  ],
  [
    'an interpreter is missing',
    'userspace.languages',
    'warn',
    { findings: { userspace: 'python3' }, config: { providers: { userspace: { languages: ['python3'] } } } },
  ],
  ['a container was left behind', 'leftovers.container', 'warn', { strays: { container: [stray, known] } }],
  ['a userspace sandbox was left behind', 'leftovers.userspace', 'warn', { strays: { userspace: [stray] } }],
  ['there is no monitor', 'microvm.monitor', 'warn', { ...microvmOn, findings: { microvm: 'monitor' } }],
  ['there is no kernel', 'microvm.kernel', 'warn', { ...microvmOn, findings: { microvm: 'kernel' } }],
  ['guests have no agent', 'microvm.agent', 'warn', { ...microvmOn, findings: { microvm: 'agent' } }],
  ['there is no image', 'microvm.images', 'warn', { ...microvmOn, findings: { microvm: 'images' } }],
  [
    'an image is damaged',
    'microvm.contents',
    'warn',
    { config: { providers: { microvm: { enabled: true, data_dir: damaged } } } },
  ],
  ['zstd is missing', 'images.zstd', 'warn', { host: { programs: {} } }],
  [
    'the credentials of registries are missing',
    'images.credentials',
    'warn',
    { config: { images: { docker_config: '/nowhere' } } },
  ],
  [
    'the credentials of registries are damaged',
    'images.credentials',
    'fail',
    { config: { images: { docker_config: '/config.json' } }, files: { '/config.json': '{' } },
  ],
  ['no guest boots', 'microvm.accelerator', 'warn', { ...microvmOn, findings: { microvm: 'accelerator' } }],
  ['a guest was left behind', 'leftovers.microvm', 'warn', { ...microvmOn, strays: { microvm: [stray] } }],
  [
    'no provider can hold the default policy',
    'egress.providers',
    'warn',
    { config: { egress: { default_policy: { default: 'deny', allow: [], deny: [] } } } },
  ],
  [
    'a registry leads to where no policy reaches',
    'egress.packages',
    'warn',
    { config: { egress: { groups: { packages: 'localhost' }, allow: ['@packages'] } } },
  ],
  ...(
    [
      ['serves nobody', { hosts: ['api.invalid'] }, 'secret'],
      ['ends with a space', { hosts: ['api.invalid'], owners: ['*'] }, 'secret '],
      ['is for a host that no policy reaches', { hosts: ['localhost:8443'], owners: ['*'] }, 'secret'],
    ] as const
  ).map(([what, mine, value]): (typeof FAULTS)[number] => [
    `a credential ${what}`,
    'egress.credentials',
    'warn',
    {
      config: { egress: { credentials: { mine: value }, credential_terms: { mine } } },
    } as unknown as Machine,
  ]),
  ...(
    [
      ['the group of another user can read', { gid: 1000, mode: 0o640 }],
      ['everyone can read', { mode: 0o604 }],
      ['another user owns', { uid: 1000 }],
      ['others can change', { mode: 0o602 }],
      ['others can replace', {}, { mode: 0o757 }],
      ['the group of another user can replace', {}, { mode: 0o775, gid: 1000 }],
      ['the owner of the folder can replace', {}, { uid: 1000 }],
    ] as const
  ).map(([what, file, folder]): (typeof FAULTS)[number] => [
    `${what} the file of a credential`,
    'egress.credentials',
    'warn',
    credentialIn(file, folder),
  ]),
  ['the backend is silent', 'custom.backend', 'warn', { ...customOn, findings: { custom: 'backend' } }],
  ['its inventory is odd', 'custom.inventory', 'warn', { ...customOn, findings: { custom: 'inventory' } }],
  ['the service is silent', 'hosted.backend', 'warn', { ...hostedOn, findings: { hosted: 'backend' } }],
  ['a sandbox was left at it', 'leftovers.hosted', 'warn', { ...hostedOn, strays: { hosted: [stray] } }],
  ['a sandbox was left there', 'leftovers.custom', 'warn', { ...customOn, strays: { custom: [stray] } }],
  ...(['container', 'userspace', 'microvm', 'hosted', 'custom'] as const).flatMap((kind) =>
    (['start', 'exec', 'write', 'read', 'connect', 'destroy', 'nothing_left'] as const).map(
      (step): [string, string, Verdict, Machine] => [
        `${step} goes wrong in ${kind}`,
        `probe_${kind}.${step}`,
        'fail',
        {
          fault: { kind, step },
          ...(kind === 'custom' && customOn),
          ...(kind === 'hosted' && hostedOn),
          ...(kind === 'microvm' && microvmOn),
        },
      ],
    ),
  ),
];

it.each(FAULTS)('%s: only %s reports it', async (_, id, verdict, wrong) => {
  const found = (await examine(wrong)).filter((check) => bad(check.verdict));
  expect(found.map((check) => [check.id, check.verdict])).toEqual([[id, verdict]]);
});

it('names the keys that need attention, with the commands', async () => {
  const old = keyFacts({ scopes: ['admin'], created_at: inDays(-400) });
  const keys = [
    keyFacts({ name: 'soon', expires_at: inDays(6) }),
    keyFacts({ name: 'later', expires_at: inDays(8) }),
    keyFacts({ name: 'user', created_at: inDays(-400), last_used_at: inDays(-300) }),
    Object.assign({}, old, { name: 'root', last_used_at: inDays(-89) }),
  ];
  const about = async (more: ValidKey[]) =>
    (await examine({ keys: keys.slice(more.length === 0 ? 1 : 0).concat(more) })).find(
      ({ id }) => id === 'database.keys',
    );
  expect(await about([])).toMatchObject({ verdict: 'pass' });
  const unused = Array.from({ length: 21 }, (_, n) => Object.assign({}, old, { name: `root-${n}` }));
  const found = await about(unused);
  expect(found?.message).toMatch(
    /^These named keys expire within 7 days: soon\. .*: root-0, .*root-19 and 1 more\.$/,
  );
  expect(found?.fix).toMatch(/svc key rotate .* svc key revoke /);
});

it('says what spawns of templates do whose image is not on this machine', async () => {
  const about = async (image: string, pull: 'never' | 'missing') =>
    (
      await examine({
        config: { images: { pull } },
        templates: [{ name: 'py', image, provider: 'userspace' }],
      })
    ).find(({ id }) => id === 'database.template_images');
  expect(await about('alpine', 'missing')).toMatchObject({ verdict: 'pass' });
  expect(await about('py:1', 'missing')).toMatchObject({
    verdict: 'warn',
    message: 'Spawns of these templates first pull the image, and fail if that is not possible: py (py:1).',
  });
  expect(await about('py:1', 'never')).toMatchObject({
    verdict: 'warn',
    message:
      'Spawns of these templates run on the default root because the image is not on this machine: py (py:1).',
  });
});

it('every failed check gives its observation and a remedy', async () => {
  for (const [, , , wrong] of FAULTS) {
    const [found] = (await examine(wrong)).filter((check) => bad(check.verdict));
    expect(found?.message).toMatch(/.\.$/);
    if (!found?.id.startsWith('probe_')) expect(found?.fix).toMatch(/./);
  }
});

it('every check except two has a fault in the table', async () => {
  const all = (await examine()).map(({ id }) => id);
  // Those of PostgreSQL look at a real one: test/contract/doctor-postgres.test.ts.
  const covered = new Set(FAULTS.map(([, id]) => id));
  const others = all.filter((id) => !covered.has(id) && !id.startsWith('postgres.'));
  expect(others).toEqual(['configuration.loads', 'database.lock']);
});
