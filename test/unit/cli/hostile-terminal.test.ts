// Every command, called against a server that answers and refuses with what a terminal would obey, and every view of a report.

import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Config } from '@oclif/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { bundleText, differenceText, inspectionText, previewText } from '../../../src/cli/bundle-view.ts';
import { reportText } from '../../../src/cli/copy/copy.ts';
import { acceptText, backupText, inspectText, restoreText, verifyText } from '../../../src/cli/db-view.ts';
import { doctorText } from '../../../src/cli/doctor-view.ts';
import { eventLine } from '../../../src/cli/events.ts';
import {
  imageBuiltText,
  imagesText,
  imageTable,
  pruneText,
  pulledText,
} from '../../../src/cli/image-view.ts';
import { rehearsalText } from '../../../src/cli/rehearsal-view.ts';
import type { SvcCommand } from '../../../src/cli/svc-command.ts';
import { inspectedText, verdictText } from '../../../src/cli/worker-token-view.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { ROUTES } from '../../../src/http/routes/routes.ts';
import type { BackupReport, DatabaseFacts } from '../../../src/schema/db-report.ts';
import { Event } from '../../../src/schema/event.ts';
import { Image } from '../../../src/schema/image.ts';
import { FORGED, HOSTILE, hostileOf, OBEYED } from '../../support/checks/hostile-values.ts';

type CommandClass = new (argv: string[], config: Config) => SvcCommand;
const FOLDER = join(packageRoot(), 'commands');
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const idOf = (file: string) => file.slice(0, -'.ts'.length).replaceAll('/', ':');

/** What each command that calls a server is given. */
const ARGUMENTS: Record<string, string[]> = {
  audit: [],
  console: ['--no-open'],
  'egress:check': ['sb', 'example.com:443'],
  'egress:credential:list': [],
  'egress:credential:remove': [HOSTILE],
  'egress:credential:set': ['c', '--host', 'h', '--value-file', join(packageRoot(), 'package.json')],
  'egress:groups': [],
  'egress:log': ['sb'],
  'egress:suggest': ['sb'],
  'exec:list': ['sb'],
  'key:create': ['k'],
  'key:list': [],
  'key:revoke': ['k'],
  'key:rotate': ['k'],
  'provider:get': ['p'],
  'provider:list': [],
  'provider:test': [],
  'quota:delete': [HOSTILE],
  'quota:get': ['o'],
  'quota:list': [],
  'quota:owners': [],
  'quota:set': ['o', '--max-sandboxes', '1'],
  'quota:summary': [],
  'quota:usage': ['o'],
  top: ['--once'],
  'usage:owner': ['o'],
  'usage:owners': [],
  'usage:sandbox': ['sb'],
  'sandbox:admission': [],
  'sandbox:chmod': ['sb', '0644', 'f'],
  'sandbox:create': [],
  'sandbox:destroy': [HOSTILE],
  'sandbox:egress': ['sb'],
  'sandbox:explain': ['sb'],
  'sandbox:extend': ['sb', '--ttl', '1h'],
  'sandbox:get': ['sb'],
  'sandbox:glob': ['sb', '*'],
  'sandbox:list': [],
  'sandbox:logs': ['sb'],
  'sandbox:ls': ['sb'],
  'sandbox:mkdir': ['sb', 'd'],
  'sandbox:mv': ['sb', 'a', 'b'],
  'sandbox:ports': ['sb'],
  'sandbox:preview': ['sb', '80'],
  'sandbox:prune': [],
  'sandbox:rm': ['sb', 'f'],
  'sandbox:stat': ['sb', 'f'],
  'snapshot:list': [],
  'template:create': ['t', '--image', 'i'],
  'template:delete': [HOSTILE],
  'template:get': ['t'],
  'template:list': [],
  'template:spawn': ['t'],
  'template:update': ['t', '--prewarm', '1'],
  'worker:drain': ['w'],
  'worker:get': ['w'],
  'worker:list': [],
  'worker:remove': [HOSTILE],
};

/** Those whose output is data as it is, or comes from this machine alone: their views are below, where they have some. */
const NOT_CALLED = [
  ...[
    'bench',
    'completion',
    'completion:suggest',
    'doctor',
    'events',
    'mcp',
    'serve',
    'worker',
    'upgrade:rehearse',
  ],
  ...['e2b:env', 'config:explain', 'config:init', 'config:lint', 'config:schema', 'config:show'],
  ...[
    'db:accept',
    'db:backup',
    'db:copy',
    'db:inspect',
    'db:restore',
    'db:verify',
    'image:build',
    'image:import',
    'image:inspect',
    'image:list',
    'image:prune',
    'image:pull',
    'image:remove',
    'image:tag',
    'image:verify',
  ],
  ...[
    'exec:output',
    'exec:signal',
    'sandbox:cat',
    'sandbox:clean',
    'sandbox:cp',
    'sandbox:exec',
    'sandbox:run',
    'sandbox:shell',
  ],
  ...['sandbox:write', 'support:bundle', 'support:diff', 'support:inspect'],
  ...['worker:token:create', 'worker:token:inspect', 'worker:token:verify'],
];

let config: Config;
let server: Server;
let url: string;
let refuses = false;
let out = '';
const kept = new Map([process.stdout, process.stderr].map((one) => [one, one.listenerCount('error')]));

beforeAll(async () => {
  config = await Config.load(packageRoot());
  server = createServer((request, response) => {
    request.resume();
    const path = new URL(request.url ?? '', 'http://x').pathname.replace('/api/v1', '');
    const schema = refuses ? undefined : answerOf(request.method ?? '', path);
    const refusal = {
      code: 'conflict',
      message: HOSTILE,
      request_id: HOSTILE,
      details: {
        [HOSTILE]: HOSTILE,
        list: [HOSTILE, { message: HOSTILE }],
        nested: { [HOSTILE]: [HOSTILE] },
      },
    };
    response.writeHead(schema ? 200 : 409, { 'content-type': 'application/json' });
    response.end(JSON.stringify(schema ? hostileOf(schema) : refusal));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());
beforeEach(() => {
  out = '';
  const keep = (text: unknown) => {
    out += String(text);
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  vi.spyOn(console, 'error').mockImplementation((...texts) => void keep(`${texts.join(' ')}\n`));
  vi.spyOn(console, 'log').mockImplementation((...texts) => void keep(`${texts.join(' ')}\n`));
});
afterEach(() => {
  vi.restoreAllMocks();
  // Each command watches its outputs until the process ends.
  for (const stream of [process.stdout, process.stderr])
    for (const listener of stream
      .listeners('error')
      .slice(0, stream.listenerCount('error') - (kept.get(stream) ?? 0)))
      stream.off('error', listener as () => void);
  process.exitCode = undefined;
});

function answerOf(method: string, path: string) {
  const fits = (pattern: string) => new RegExp(`^${pattern.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  // One without places before one that has them.
  const found = ROUTES.filter((route) => route.method === method && fits(route.path));
  return found.sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]?.success.schema;
}

async function run(id: string, argv: string[]): Promise<string> {
  const file = join(FOLDER, `${id.replaceAll(':', '/')}.ts`);
  const module = (await import(pathToFileURL(file).href)) as { default: CommandClass };
  const command = new module.default([...argv, '--server', url], config);
  await (command as unknown as { _run(): Promise<unknown> })._run();
  return out;
}

function expectHarmless(text: string): void {
  expect(text).not.toMatch(OBEYED);
  expect(text).not.toMatch(FORGED);
}

it('knows every command', () => {
  const all = FILES.map(idOf);
  expect([...Object.keys(ARGUMENTS), ...NOT_CALLED].sort()).toEqual(all.sort());
});

describe.each(Object.entries(ARGUMENTS))('svc %s', (id, argv) => {
  it('escapes an answer', async () => {
    refuses = false;
    const text = await run(id, argv);
    // It got as far as to show what came.
    expect(text).not.toContain('Unexpected error');
    expectHarmless(text);
  });

  it('escapes a refusal', async () => {
    refuses = true;
    const text = await run(id, argv);
    expect(text).toContain('FORGED');
    expectHarmless(text);
  });

  it('prints JSON without control characters', async () => {
    refuses = false;
    expectHarmless(await run(id, [...argv, '--json']));
  });
});

const H = HOSTILE;
const TABLE = { name: H, rows: 1, oldest: H, newest: H };
const DATABASE: DatabaseFacts = {
  ...{ file: H, size_bytes: 1, wal_bytes: 1, ours: true, schema_version: 1, known_schema_version: 1 },
  ...{ instance: H, tables: [TABLE] },
};
const BACKUP: BackupReport = {
  ...{ database: H, output: H, size_bytes: 1, sha256: H, schema_version: 1, instance: H, rows: 1 },
  ...{ tables: [TABLE], duration_ms: 1 },
};
const INDEX = [{ section: H, title: H, status: H, reason: H, bytes: 1, duration_ms: 1 }] as never[];
const IMAGE = { name: H, size_bytes: 1, digest: H, created_at: H, source: H };
const CHECK = { id: H, title: H, verdict: 'fail' as const, ms: 1, message: H, fix: H };
const STEP = { id: 'rows', title: H, status: 'fail', result: H, problems: [H], duration_ms: 1 } as const;

const VIEWS: [string, () => string][] = [
  ['a backup', () => backupText(BACKUP)],
  [
    'a restore',
    () =>
      restoreText({
        ...{ input: H, database: H, dry_run: false, sha256: H, size_bytes: 1, schema_version: 1, rows: 1 },
        ...{ safety_copy: H, way_back: H, warnings: [H], duration_ms: 1 },
      }),
  ],
  ['a database', () => inspectText(DATABASE)],
  ['an accepted loss', () => acceptText({ database: H, accepted: { log: H, found_at: H } as never })],
  [
    'a verification',
    () => verifyText({ ok: false, facts: DATABASE, checks: [{ id: 'schema', title: H, problems: [H] }] }),
  ],
  [
    'a doctor',
    () =>
      doctorText({
        ...{ verdict: 'fail', production: false, ms: 1 },
        groups: [{ id: H, title: H, verdict: 'fail', ms: 1, checks: [CHECK] }],
      }),
  ],
  ['an event', () => eventLine(hostileOf(Event))],
  [
    'a built image',
    () => imageBuiltText({ ...IMAGE, files: 1, content_bytes: 1, warnings: [H], duration_ms: 1 }),
  ],
  ['images', () => imageTable([{ ...IMAGE, provider: 'microvm' }])],
  ['an image of the store', () => imagesText([hostileOf(Image)])],
  [
    'a pulled image',
    () => pulledText({ ...(hostileOf(Image) as Image), fetched_bytes: 1, unchanged: false }),
  ],
  ['pruned images', () => pruneText({ removed: [H], freed_bytes: 1 }, false)],
  [
    'a rehearsal',
    () =>
      [true, false]
        .map((ok) =>
          rehearsalText({
            ...{ ok, database: H, program_version: H, to_version: 1, backup: BACKUP },
            ...{ steps: [{ ...STEP, problems: [H] }], upgrade: [H], way_back: [H] },
          }),
        )
        .join('\n'),
  ],
  ['a bundle', () => bundleText({ output: H, size_bytes: 1, index: INDEX, redactions: [] })],
  [
    'a preview of a bundle',
    () => previewText({ sections: [{ section: 'host', title: H, collected: false, reason: H }] }),
  ],
  [
    'an inspected bundle',
    () =>
      inspectionText({
        ...{ file: H, created_at: H, program_version: H, index: INDEX, redacted: 1 },
        findings: [{ severity: 'info', section: 'host', message: H }],
      }),
  ],
  [
    'a difference of bundles',
    () => differenceText({ before: H, after: H, changes: [{ path: H, before: H, after: { [H]: H } }] }),
  ],
  [
    'a worker token',
    () =>
      inspectedText({
        ...{ worker_id: H, jti: H, aud: H, scopes: [H], iat: 1, exp: 2, left: '1s' },
      } as never),
  ],
  ['a verdict on a token', () => verdictText({ ok: false, worker_id: H, fault: H })],
  ['what a copy left out', () => reportText({ left_out: [{ path: H, reason: H }] } as never)],
];

it.each(VIEWS)('%s is shown without control characters', (_, view) => {
  const text = view();
  expect(text).toContain('FORGED');
  expectHarmless(text);
});
