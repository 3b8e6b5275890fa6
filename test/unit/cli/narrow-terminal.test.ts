// Every table of the command line in a terminal of 80 columns: no line is longer, and nothing of a row is lost.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { auditTable } from '../../../src/cli/audit.ts';
import { doctorText } from '../../../src/cli/doctor-view.ts';
import { eventLine } from '../../../src/cli/events.ts';
import { columnsOf } from '../../../src/cli/fit-columns.ts';
import { imageTable, snapshotTable } from '../../../src/cli/image-view.ts';
import { lintText } from '../../../src/cli/lint-view.ts';
import { providerTable, providerTestTable } from '../../../src/cli/provider-view.ts';
import { quotaTable } from '../../../src/cli/quota-view.ts';
import { facts } from '../../../src/cli/render.ts';
import { execTable, sandboxTable } from '../../../src/cli/sandbox-view.ts';
import { templateTable } from '../../../src/cli/template-view.ts';
import { workerTable } from '../../../src/cli/worker-view.ts';

const KEYS = ['isTTY', 'columns'] as const;
const before = KEYS.map((key) => Object.getOwnPropertyDescriptor(process.stdout, key));

function terminal(columns: number): void {
  Object.defineProperty(process.stdout, 'isTTY', { value: true, configurable: true });
  Object.defineProperty(process.stdout, 'columns', { value: columns, configurable: true });
}

beforeEach(() => {
  process.env.NO_COLOR = '1';
});
afterEach(() => {
  delete process.env.NO_COLOR;
  for (const [at, key] of KEYS.entries()) {
    const was = before[at];
    if (was) Object.defineProperty(process.stdout, key, was);
    else Reflect.deleteProperty(process.stdout, key);
  }
});

const NOW = Date.parse('2026-01-02T00:00:00.000Z');
const AT = '2026-01-01T00:00:00.000Z';
const ID = '0f3e2d1c-4b5a-4678-9abc-def012345678';
const PROVIDER = {
  name: 'container',
  default: true,
  healthy: false,
  latency_ms: 12_345,
  capabilities: [
    'exec',
    'exec_stream',
    'exec_detached',
    'files',
    'network_none',
    'connect',
    'tty',
    'pool',
    'images',
  ],
  error:
    'The engine at /var/run/docker.sock does not answer; start it, or set providers.container.enabled to false.',
};

const TABLES: readonly (readonly [string, () => string, readonly string[]])[] = [
  ['provider list', () => providerTable([PROVIDER] as never), [...PROVIDER.capabilities]],
  ['provider test', () => providerTestTable({ container: PROVIDER } as never), ['container']],
  [
    'sandbox list',
    () =>
      sandboxTable(
        [
          {
            ...{
              id: ID,
              state: 'destroyed',
              end_reason: 'runtime_lost',
              provider: 'container',
              memory_mb: 16_384,
            },
            image: 'registry.example.com/team/an-image-with-a-long-name:2026-01-01',
            ...{ owner_id: 'an-owner-with-a-long-name@example.com', created_at: AT, expires_at: AT },
          },
        ] as never,
        NOW,
      ),
    [ID, '16384'],
  ],
  [
    'exec list',
    () =>
      execTable(
        [
          { exec_id: ID, state: 'running', detached: true, started_at: AT, command: 'npm run dev -- --host' },
        ] as never,
        NOW,
      ),
    [ID, '--host'],
  ],
  [
    'template list',
    () =>
      templateTable(
        [
          {
            ...{
              name: 'a-template',
              version: 12,
              image: 'debian:12-slim',
              provider: 'userspace',
              memory_mb: 512,
            },
            ...{
              ttl: '24h',
              prewarm: 10,
              owner_id: 'an-owner',
              updated_at: AT,
              description: 'What the team begins with.',
            },
          },
        ] as never,
        NOW,
      ),
    ['a-template'],
  ],
  [
    'quota list',
    () =>
      quotaTable([
        {
          owner_id: 'an-owner@example.com',
          max_sandboxes: 10,
          max_ttl: '24h',
          max_exec_timeout: '1h',
          updated_at: AT,
        },
      ] as never),
    ['an-owner@example.com'],
  ],
  [
    'worker list',
    () =>
      workerTable(
        [
          {
            ...{
              id: 'worker-1',
              status: 'ready',
              providers: ['container', 'userspace', 'microvm', 'hosted', 'custom'],
            },
            ...{
              hostname: 'a-host.internal.example.com',
              last_heartbeat: AT,
              active_sandboxes: 3,
              active_by_provider: { container: 2, microvm: 1 },
              free_sandboxes: 7,
              capacity: { max_sandboxes: 10, memory_mb: 65_536, vcpus: 32 },
            },
          },
        ] as never,
        NOW,
      ),
    ['worker-1', '3 of 10', 'GiB'],
  ],
  [
    'snapshot list',
    () =>
      snapshotTable([
        { image: 'debian', kernel: '6.1.0-37-cloud-amd64', size: 5e9, created_at: AT, provider: 'microvm' },
      ] as never),
    ['debian'],
  ],
  [
    'image list',
    () =>
      imageTable([
        {
          ...{ name: 'debian', size_bytes: 5e9, created_at: AT, digest: 'a'.repeat(64) },
          source: 'registry.example.com/team/an-image-with-a-long-name:2026-01-01',
        },
      ] as never),
    ['debian'],
  ],
  [
    'audit',
    () =>
      auditTable([
        {
          ...{
            created_at: AT,
            actor: 'admin:X-Admin-API-Key',
            method: 'PUT',
            path: '/api/v1/quotas/an-owner',
          },
          ...{ status: 200, duration_ms: 3, remote_addr: '2001:db8::1', request_id: ID },
        },
      ] as never),
    ['admin:X-Admin-API-Key', '/api/v1/quotas/an-owner', ID],
  ],
];

const SENTENCE =
  'The container engine cannot be reached. Start it, or set providers.container.socket to where it is.';
const REPORT = {
  ...{ verdict: 'fail', production: false, ms: 3 },
  groups: [
    {
      ...{ title: 'Container engine', verdict: 'fail', ms: 2 },
      checks: [
        {
          id: 'container.engine',
          title: 'The engine answers',
          verdict: 'fail',
          ms: 1,
          message: SENTENCE,
          fix: SENTENCE,
        },
        {
          id: 'container.image',
          title: 'The default image is there',
          verdict: 'skip',
          ms: 0,
          message: SENTENCE,
        },
      ],
    },
  ],
};

const lintReport = (words: { message: string; remedy: string }) =>
  ({
    ...{ file: 'svc.yaml', production: true, usable: true, errors: 1, warnings: 0, known: 0, mended: 0 },
    findings: [
      {
        ...{ rule: 'SVC101', topic: 'Keys and callers', level: 'error', known: false, key: 'auth.enabled' },
        ...{ file: 'svc.yaml', line: 12, column: 3, fingerprint: 'a'.repeat(32), ...words },
      },
    ],
  }) as never;

it.each<[string, () => string]>([
  [
    'an event',
    () => eventLine({ id: 1, type: 'provider.failed', timestamp: AT, data: { message: SENTENCE } }),
  ],
  ['a fact', () => facts([['isolation', SENTENCE]])],
  ['a report of the doctor', () => doctorText(REPORT as never)],
  ['the message of a lint finding', () => lintText(lintReport({ message: SENTENCE, remedy: 'Start it.' }))],
  ['the remedy of a lint finding', () => lintText(lintReport({ message: 'It is down.', remedy: SENTENCE }))],
])('wraps %s at the spaces of its text', (_, draw) => {
  terminal(80);
  const text = draw();
  expect(text.split('\n').filter((line) => columnsOf(line) > 80)).toEqual([]);
  expect(text.replaceAll(/\s+/g, ' ')).toContain(SENTENCE);
  Object.defineProperty(process.stdout, 'isTTY', { value: false, configurable: true });
  expect(draw()).toContain(SENTENCE);
});

it('does not break a long word of a value, so that it can be copied', () => {
  terminal(40);
  const url = 'https://sb-0123456789ab-8080.previews.example.com/?token=abc';
  expect(facts([['url', url]])).toContain(url);
});

it.each(TABLES)('svc %s', (_, draw, kept) => {
  terminal(80);
  const lines = draw().split('\n');
  expect(lines.filter((line) => columnsOf(line) > 80)).toEqual([]);
  for (const text of kept) expect(lines.join('\n')).toContain(text);
  Object.defineProperty(process.stdout, 'isTTY', { value: false, configurable: true });
  expect(draw().split('\n')).toHaveLength(2);
});
