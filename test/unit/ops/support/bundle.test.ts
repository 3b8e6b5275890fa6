// Bundles: what is in them, that one bad section loses no other, and that they are whole, private and bounded.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Client } from '../../../../src/client/client.ts';
import { readConfig } from '../../../../src/config/load.ts';
import { realHost } from '../../../../src/host/real-host.ts';
import { makeBundle, previewBundle, writeBundle } from '../../../../src/ops/support/bundle.ts';
import { diffBundles } from '../../../../src/ops/support/diff.ts';
import { inspectBundle } from '../../../../src/ops/support/inspect.ts';
import type { BundleSources } from '../../../../src/ops/support/sections.ts';
import { openStore } from '../../../support/databases.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from '../../../support/records.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

interface Given {
  yaml?: string;
  env?: Record<string, string>;
  client?: unknown;
}

function world({ yaml, env = {}, client }: Given = {}): BundleSources & { folder: string } {
  const folder = temporaryFolder();
  const file = join(folder, 'svc.yaml');
  if (yaml !== undefined) writeFileSync(file, yaml, { mode: 0o600 });
  const variables = { SVC_DATABASE_PATH: join(folder, 'svc.db'), ...env };
  const reading = readConfig({
    file: yaml === undefined ? undefined : file,
    env: variables,
    cwd: folder,
    home: '/nonexistent',
    uid: 0,
    isTerminal: false,
  });
  return {
    folder,
    clock: fakeClock(),
    host: realHost(),
    programVersion: '1.2.3',
    env: variables,
    cwd: folder,
    reading,
    client: client as Client | undefined,
  };
}

const statuses = ({ index }: { index: { section: string; status: string }[] }) =>
  Object.fromEntries(index.map(({ section, status }) => [section, status]));

const server = (diagnostics: () => unknown) => ({
  system: { health: async () => ({ status: 'ok' }) },
  admin: { diagnostics: async () => diagnostics() },
});

it('needs no server and no database', async () => {
  const bundle = await makeBundle(world());
  expect(statuses(bundle)).toEqual({
    program: 'ok',
    host: 'ok',
    configuration: 'ok',
    lint: 'skipped',
    doctor: 'skipped',
    database: 'skipped',
    events: 'skipped',
    server: 'skipped',
  });
  expect(bundle.index.find(({ section }) => section === 'server')?.reason).toContain('--include-server');
});

it('holds the configuration by key, without secrets, also when invalid', async () => {
  const key = 'a-key-that-nobody-knows-0123456789';
  const given = world({
    yaml: `auth:\n  enabled: true\n  api_key: ${key}\nnonsense: 1\nserver:\n  port: 99999\n`,
  });
  const { sections } = await makeBundle(given);
  const text = JSON.stringify(sections.configuration);
  expect(text).not.toContain(key);
  expect(text).toContain('nonsense');
  const { settings, problems } = sections.configuration as { settings: object[]; problems: string[] };
  expect(settings).toContainEqual({
    name: 'auth.api_key',
    source: expect.stringContaining('svc.yaml:3'),
    set: true,
  });
  expect(settings).toContainEqual({
    name: 'auth.enabled',
    source: expect.stringContaining('svc.yaml:2'),
    value: true,
  });
  expect(problems.length).toBeGreaterThan(0);
});

it('reads a database without a server, renames owners and leaves rows out', async () => {
  const given = world();
  const store = await openStore(join(given.folder, 'svc.db'));
  await store.sandboxes.reserve({
    sandbox: sandboxRecord({
      owner_id: 'alice',
      env: { A: 'environment-of-a-guest' },
      metadata: { m: 'metadata-of-a-guest' },
    }),
    limits: NO_CAP,
    events: [
      eventDraft({ owner_id: 'alice', data: { why: 'alice asked, not malice' } }),
      eventDraft({ owner_id: 'bob' }),
    ],
  });
  await store.close();
  const bundle = await makeBundle(given);
  expect(bundle.sections.database).toMatchObject({ ours: true });
  expect(bundle.sections.events).toMatchObject([
    { owner_id: '[owner-1]', data: { why: '[owner-1] asked, not malice' } },
    { owner_id: '[owner-2]' },
  ]);
  expect(JSON.stringify(bundle)).not.toMatch(/of-a-guest|bob/);
  expect(bundle.redactions).toContainEqual({
    place: 'events.owner_id',
    rule: 'owner',
    count: 2,
    pseudonyms: ['[owner-1]', '[owner-2]'],
  });
});

it('keeps all other sections when one fails or is too large', async () => {
  const failing = server(() => {
    throw new Error('cannot reach https://me:hunter22hunter22@host/');
  });
  const failed = await makeBundle(world({ client: failing }));
  expect(statuses(failed)).toMatchObject({ program: 'ok', server: 'failed', configuration: 'ok' });
  expect(JSON.stringify(failed)).not.toContain('hunter22hunter22');
  const lines = Array.from({ length: 900 }, () => ({ message: 'x'.repeat(10_000) }));
  const large = await makeBundle(world({ client: server(() => ({ logs: lines })) }));
  expect(large.index.at(-1)).toMatchObject({
    section: 'server',
    status: 'failed',
    reason: 'it is too large',
  });
  expect(JSON.stringify(large).length).toBeLessThan(1_000_000);
});

it('gives up a section that never ends', async () => {
  const given = world({ client: server(() => new Promise(() => {})) });
  const clock = fakeClock();
  const making = makeBundle({ ...given, clock });
  let bundle: Awaited<typeof making> | undefined;
  void making.then((made) => {
    bundle = made;
  });
  while (!bundle) await clock.advance(5000);
  expect(bundle.index.at(-1)).toMatchObject({ status: 'failed', reason: 'it took longer than 60 s' });
});

it('keeps 1,000 log lines complete', async () => {
  const logs = Array.from({ length: 1000 }, (_, n) => ({
    level: 'info',
    time: 't',
    message: `line ${n}`,
    request: { id: n, path: '/x', status: 200 },
  }));
  const { sections } = await makeBundle(world({ client: server(() => ({ logs })) }));
  expect((sections.server as { diagnostics: { logs: unknown[] } }).diagnostics.logs).toEqual(logs);
});

it('is written completely, readable only by its owner, and overwrites nothing', async () => {
  const given = world();
  mkdirSync(join(given.folder, 'out'));
  const output = join(given.folder, 'out', 'b.json');
  const report = await writeBundle({ output }, given);
  expect(statSync(output).mode & 0o777).toBe(0o600);
  expect(statSync(output).size).toBe(report.size_bytes);
  expect(readdirSync(join(given.folder, 'out'))).toEqual(['b.json']);
  const before = readFileSync(output);
  await expect(writeBundle({ output }, given)).rejects.toMatchObject({ code: 'conflict' });
  expect(readFileSync(output)).toEqual(before);
  await writeBundle({ output, force: true }, given);
});

it('lists its sections without collecting them', () => {
  const given = world();
  const { sections } = previewBundle(given);
  expect(sections).toHaveLength(8);
  expect(sections.find(({ section }) => section === 'database')).toMatchObject({ collected: false });
  expect(existsSync(join(given.folder, 'svc.db'))).toBe(false);
});

it('is inspected for failures, findings and log entries', async () => {
  const logs = [
    { level: 'error', message: 'first' },
    { level: 'error', message: 'second' },
    { level: 'warn', message: 'third' },
  ];
  const providers = [{ name: 'container', healthy: false, error: 'no engine' }];
  const given = world({ yaml: 'server:\n  port: 99999\n', client: server(() => ({ logs, providers })) });
  const output = join(given.folder, 'b.json');
  await writeBundle({ output }, given);
  const messages = inspectBundle(output).findings.map(({ section, message }) => `${section} ${message}`);
  expect(messages).toContainEqual(expect.stringContaining('configuration'));
  expect(messages).toContain('server The provider container is not healthy: no engine.');
  expect(messages).toContain('server The log contains 2 errors. The last error: second');
});

it('holds the report of the doctor', async () => {
  const checks = [{ id: 'a.b', title: 'Space', verdict: 'fail', ms: 1, message: 'There is none.' }];
  const report = {
    verdict: 'fail',
    production: true,
    ms: 1,
    groups: [{ id: 'a', title: 'A', verdict: 'fail', ms: 1, checks }],
  };
  const given = { ...world(), doctor: async () => report as never };
  const output = join(given.folder, 'b.json');
  await writeBundle({ output }, given);
  expect(inspectBundle(output).findings).toContainEqual({
    severity: 'error',
    section: 'doctor',
    message: 'Space: There is none.',
  });
});

it('is compared by path, without values that always differ', async () => {
  const logs = () => [{ level: 'info', message: String(Math.random()) }];
  const given = world({ yaml: 'server:\n  port: 8080\n', client: server(() => ({ logs: logs() })) });
  const [before, after, same] = ['a', 'b', 'c'].map((name) => join(given.folder, `${name}.json`)) as [
    string,
    string,
    string,
  ];
  await writeBundle({ output: before }, given);
  await writeBundle({ output: same }, given);
  expect(diffBundles(before, same).changes).toEqual([]);
  const changed = { ...given, reading: { ...given.reading, config: structuredClone(given.reading.config) } };
  changed.reading.config.server.port = 9090;
  await writeBundle({ output: after }, changed);
  expect(diffBundles(before, after).changes).toEqual([
    { path: 'configuration.settings.server.port.value', before: 8080, after: 9090 },
  ]);
});

it.each([
  ['no JSON', 'x'],
  ['another document', '{"format":1}'],
  [
    'another format',
    '{"format":99,"created_at":"","program_version":"","index":[],"sections":{},"redactions":[]}',
  ],
  ['null', 'null'],
  [
    'an index of nothing',
    '{"format":1,"created_at":"","program_version":"","index":[null],"sections":{},"redactions":[]}',
  ],
])('refuses %s', (_, text) => {
  const path = join(temporaryFolder(), 'b.json');
  writeFileSync(path, text);
  expect(() => inspectBundle(path)).toThrow(expect.objectContaining({ code: 'bad_request' }));
});

/** A bundle of nothing but what is given, in a file. */
function bundleFile(facts: Record<string, unknown>): string {
  const path = join(temporaryFolder(), 'b.json');
  const empty = { format: 1, created_at: '', program_version: '', index: [], redactions: [], sections: {} };
  writeFileSync(path, JSON.stringify({ ...empty, ...facts }));
  return path;
}

it.each([
  ['an index of many entries', { index: Array(100_000).fill({}) }, 'payload_too_large'],
  ['many redactions', { redactions: Array(200_000).fill({}) }, 'payload_too_large'],
  ['many values', { sections: { host: Array(2_100_000).fill(0) } }, 'payload_too_large'],
  ['a wide text in the index', { index: [{ title: 'x'.repeat(10_000_000) }] }, 'bad_request'],
])('refuses a bundle with %s, in inspect and diff', (_, facts, code) => {
  const path = bundleFile(facts);
  expect(() => inspectBundle(path)).toThrow(expect.objectContaining({ code }));
  expect(() => diffBundles(path, path)).toThrow(expect.objectContaining({ code }));
});

it('limits the findings and differences that it shows', () => {
  const problems = [...Array(5000).keys()].map((n) => `${n} ${'x'.repeat(2000)}`);
  const { findings } = inspectBundle(bundleFile({ sections: { configuration: { problems } } }));
  expect(findings).toHaveLength(1001);
  expect(Math.max(...findings.map(({ message }) => message.length))).toBe(1001);
  expect(findings.at(-1)?.message).toBe('4000 more findings are not shown.');
  const many = (value: number) =>
    bundleFile({ sections: { host: { ['k'.repeat(1_000_000)]: Array(5000).fill(value) } } });
  const { changes } = diffBundles(many(1), many(2));
  expect(changes).toHaveLength(1000);
  expect(Math.max(...changes.map(({ path }) => path.length))).toBeLessThan(300);
});

it('survives a bundle whose sections have the wrong types', () => {
  const path = join(temporaryFolder(), 'b.json');
  const sections = {
    lint: { findings: [null, 7, {}] },
    server: { diagnostics: 5, health: [] },
    configuration: 'x',
    database: null,
  };
  const bundle = {
    format: 1,
    created_at: 'x',
    program_version: 'y',
    index: [],
    redactions: [{ count: 'x' }],
    sections,
  };
  writeFileSync(path, JSON.stringify(bundle));
  expect(inspectBundle(path).redacted).toBe(0);
  expect(diffBundles(path, path).changes).toEqual([]);
});
