// Every reloadable key takes effect in a running server: one server, whose configuration is read again before and after
// each change. A key that becomes reloadable fails here until it has a case.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshToken } from '../../src/domain/worker-token.ts';
import { CONFIG_KEYS, isReloadable } from '../../src/schema/config-keys.ts';
import { describeWith } from '../support/requires.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const [KEY, OTHER] = ['key-canary-0123456789abcdef0123456789ab', 'other-canary-0123456789abcdef012345678'];
const ORIGIN = 'https://console.example.com';
/** Limits that one call uses up for a minute. */
const ONE_CALL = { enabled: true, requests_per_minute: 1, burst: 1 };

type Values = Record<string, Record<string, unknown>>;

interface Case {
  /** What else the configuration holds, before and after the change. */
  given?: Values;
  value: unknown;
  observe(): Promise<unknown>;
  /** Absent where nothing but the new value lets `observe` resolve. */
  before?: unknown;
  after: unknown;
}

describeWith(['unshare', 'root'], 'a reload applies', () => {
  let home: string;
  let server: TestServer;
  let sandbox: string;

  const BASE: Values = { auth: { enabled: true, api_key: KEY }, logging: { level: 'info' } };

  const call = (path: string, headers: Record<string, string> = {}, body?: unknown) =>
    fetch(`${server.url}/api/v1${path}`, {
      headers: {
        'X-API-Key': KEY,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  const statuses = async (...calls: (() => Promise<Response>)[]) => {
    const all: number[] = [];
    for (const each of calls) all.push((await each()).status);
    return all;
  };
  const CREDENTIAL = {
    credentials: { own: 'a value of one' },
    credential_terms: { own: { hosts: ['a.example'] } },
  };
  const changes = new Set<string>();
  const credential = async () => {
    const response = await call('/admin/egress/credentials/own', { 'X-Admin-API-Key': OTHER });
    return (await response.json()) as { updated_at: string; hosts: string[] };
  };
  const list = (headers?: Record<string, string>) => () => call('/sandboxes', headers);
  const heartbeat = async (token: string) => {
    const body = {
      hostname: 'h',
      status: 'online',
      providers: ['container'],
      capabilities: [],
      capacity: { max_sandboxes: 0 },
      version: '0',
    };
    return (await call('/worker/edge/heartbeat', { 'X-Worker-ID': 'edge', 'X-Worker-Token': token }, body))
      .status;
  };
  const tokenOf = (key: string, jti = 'one') =>
    freshToken(key, { worker_id: 'edge', aud: 'worker:control-plane', jti, now: Date.now() });
  const exec = async (command: string, timeout?: string) => {
    const response = await call(`/sandboxes/${sandbox}/exec`, {}, { command, ...(timeout && { timeout }) });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  /** Ends what it spawns. */
  const spawns = async (owner: string | undefined, count: number, body: object = {}) => {
    const headers: Record<string, string> = owner === undefined ? {} : { 'X-User-ID': owner };
    const responses: Response[] = [];
    for (let n = 0; n < count; n++) responses.push(await call('/sandboxes', headers, body));
    for (const response of responses) {
      const { id } = (await response.json()) as { id?: string };
      if (id)
        await fetch(`${server.url}/api/v1/sandboxes/${id}`, {
          method: 'DELETE',
          headers: { 'X-API-Key': KEY },
        });
    }
    return responses.map(({ status }) => status);
  };
  const buckets = async () => {
    const body = (await (await call('/metrics', { 'X-User-ID': 'reader' })).json()) as {
      rate_limit: { buckets: number };
    };
    return body.rate_limit.buckets;
  };
  /** True once the bucket of an owner is removed and only that of the reader is left. */
  const bucketExpires = async () => {
    await call('/sandboxes', { 'X-User-ID': 'ann' });
    expect(await buckets()).toBe(2);
    return until('the bucket to be removed', async () => (await buckets()) === 1);
  };

  const CASES: Record<string, Case> = {
    'logging.level': {
      value: 'debug',
      before: false,
      after: true,
      async observe() {
        await call('/health', { 'X-Request-ID': 'a-probe' });
        const id = `after-${Math.random()}`;
        await call('/sandboxes', { 'X-Request-ID': id });
        await until('the log of the later call', () => server.log().includes(id));
        return server.log().includes('a-probe');
      },
    },
    'auth.api_key': {
      value: OTHER,
      before: [200, 401],
      after: [401, 200],
      observe: () => statuses(list(), list({ 'X-API-Key': OTHER })),
    },
    'auth.admin_api_key': {
      value: OTHER,
      before: [401, 200],
      after: [200, 403],
      observe: () =>
        statuses(
          () => call('/admin/audit', { 'X-API-Key': '', 'X-Admin-API-Key': OTHER }),
          () => call('/admin/audit'),
        ),
    },
    'auth.api_key_previous': {
      value: OTHER,
      before: [200, 401],
      after: [200, 200],
      observe: () => statuses(list(), list({ 'X-API-Key': OTHER })),
    },
    'auth.admin_api_key_previous': {
      given: {
        auth: { enabled: true, api_key: KEY, admin_api_key: 'admin-canary-0123456789abcdef01234567' },
      },
      value: OTHER,
      before: [401],
      after: [200],
      observe: () => statuses(() => call('/admin/audit', { 'X-API-Key': '', 'X-Admin-API-Key': OTHER })),
    },
    'audit.execs': {
      value: true,
      before: 0,
      after: 1,
      async observe() {
        const since = new Date().toISOString();
        const records = async (path: string) =>
          (await (await call(`/admin/audit?since=${since}&path=${path}`)).json()) as unknown[];
        await exec('true');
        await spawns(undefined, 1);
        await until('the record of a later call', async () => (await records('/sandboxes')).length >= 2);
        return (await records('/exec')).length;
      },
    },
    'auth.worker_token': { value: OTHER, before: 503, after: 200, observe: () => heartbeat(OTHER) },
    'auth.worker_tokens': {
      value: { edge: OTHER },
      before: 503,
      after: 200,
      observe: () => heartbeat(OTHER),
    },
    'egress.credentials': {
      given: { auth: { admin_api_key: OTHER }, egress: { ...CREDENTIAL } },
      value: { own: 'another value' },
      before: 1,
      after: 2,
      // The value cannot be read back; the time of its change can.
      observe: async () => changes.add((await credential()).updated_at).size,
    },
    'egress.credential_terms': {
      given: { auth: { admin_api_key: OTHER }, egress: { ...CREDENTIAL } },
      value: { own: { hosts: ['b.example'] } },
      before: ['a.example'],
      after: ['b.example'],
      observe: async () => (await credential()).hosts,
    },
    'auth.worker_signing_key': {
      value: OTHER,
      before: 503,
      after: 200,
      observe: () => heartbeat(tokenOf(OTHER)),
    },
    'auth.worker_signing_key_previous': {
      given: { auth: { worker_signing_key: KEY } },
      value: OTHER,
      before: 401,
      after: 200,
      observe: () => heartbeat(tokenOf(OTHER)),
    },
    'auth.worker_revoked_tokens': {
      given: { auth: { worker_signing_key: OTHER } },
      value: ['revoked'],
      before: 200,
      after: 401,
      observe: () => heartbeat(tokenOf(OTHER, 'revoked')),
    },
    'server.cors_allowed_origins': {
      value: [ORIGIN],
      before: null,
      after: ORIGIN,
      observe: async () =>
        (await call('/health', { Origin: ORIGIN })).headers.get('access-control-allow-origin'),
    },
    'rate_limit.enabled': {
      given: { rate_limit: { ...ONE_CALL, enabled: false } },
      value: true,
      before: [200, 200],
      after: [200, 429],
      observe: () => statuses(list(), list()),
    },
    'rate_limit.requests_per_minute': {
      given: { rate_limit: ONE_CALL },
      value: 6_000_000,
      before: [200, 429],
      after: [200, 200],
      observe: () => statuses(list(), list()),
    },
    'rate_limit.burst': {
      given: { rate_limit: ONE_CALL },
      value: 2,
      before: [200, 429, 429],
      after: [200, 200, 429],
      observe: () => statuses(list(), list(), list()),
    },
    'rate_limit.key_by': {
      given: { rate_limit: { ...ONE_CALL, key_by: 'ip' } },
      value: 'owner',
      before: [200, 429],
      after: [200, 200],
      observe: () => statuses(list({ 'X-User-ID': 'ann' }), list({ 'X-User-ID': 'bob' })),
    },
    'rate_limit.key_multiple': {
      given: { rate_limit: { ...ONE_CALL, key_multiple: 1 } },
      value: 2,
      before: [200, 429],
      after: [200, 200],
      observe: () => statuses(list({ 'X-User-ID': 'ann' }), list({ 'X-User-ID': 'bob' })),
    },
    'rate_limit.bucket_ttl': {
      given: {
        rate_limit: {
          enabled: true,
          requests_per_minute: 6_000_000,
          bucket_ttl: '1h',
          cleanup_interval: '1s',
        },
      },
      value: '1s',
      after: true,
      observe: bucketExpires,
    },
    'rate_limit.cleanup_interval': {
      given: {
        rate_limit: {
          enabled: true,
          requests_per_minute: 6_000_000,
          bucket_ttl: '0s',
          cleanup_interval: '1h',
        },
      },
      value: '1s',
      after: true,
      observe: bucketExpires,
    },
    'rate_limit.max_buckets': {
      given: { rate_limit: { enabled: true } },
      value: 100,
      before: true,
      after: false,
      async observe() {
        for (let n = 0; n < 120; n++) await call('/sandboxes', { 'X-User-ID': `owner-${n}` });
        return (await buckets()) > 100;
      },
    },
    'defaults.max_sandboxes': {
      value: 1,
      before: [201],
      after: [429],
      observe: () => spawns(undefined, 1),
    },
    'defaults.max_sandboxes_per_owner': {
      value: 1,
      before: [201, 201],
      after: [201, 429],
      observe: () => spawns('ann', 2),
    },
    'defaults.max_ttl': {
      value: '1h',
      before: [201],
      after: [429],
      observe: () => spawns(undefined, 1, { ttl: '2h' }),
    },
    'defaults.default_exec_timeout': {
      value: '1s',
      before: 0,
      after: undefined,
      observe: async () => (await exec('sleep 1.5')).body.exit_code,
    },
    'defaults.max_exec_timeout': {
      value: '2m',
      before: 200,
      after: 429,
      observe: async () => (await exec('true', '5m')).status,
    },
    'defaults.max_exec_output': {
      value: 1024,
      before: 5000,
      after: 1024,
      observe: async () => ((await exec('head -c 5000 /dev/zero | tr "\\0" x')).body.stdout as string).length,
    },
  };

  /** Merges by section. */
  const merged = (...parts: Values[]): Values => {
    const all: Values = {};
    for (const part of parts)
      for (const [section, keys] of Object.entries(part)) all[section] = { ...all[section], ...keys };
    return all;
  };
  const reload = async (config: Values) => {
    writeFileSync(join(home, 'svc.yaml'), JSON.stringify(config));
    const read = () => server.log().split('Configuration reloaded').length;
    const before = read();
    server.child.kill('SIGHUP');
    await until('the configuration to be read', () => read() > before);
    return server.log().slice(server.log().lastIndexOf('"applied":'));
  };

  beforeAll(async () => {
    home = makeHome();
    const file = join(home, 'svc.yaml');
    writeFileSync(file, JSON.stringify(BASE));
    chmodSync(file, 0o600);
    server = await startServer({ home });
    const response = await call('/sandboxes', {}, { ttl: '10m' });
    sandbox = ((await response.json()) as { id: string }).id;
  });
  afterAll(async () => {
    await reload(BASE);
    await fetch(`${server.url}/api/v1/sandboxes/${sandbox}`, {
      method: 'DELETE',
      headers: { 'X-API-Key': KEY },
    });
    await server?.stop();
    removeHome(home);
  });

  it.each(CONFIG_KEYS.map(({ path }) => path).filter(isReloadable))('%s', async (path) => {
    const found = CASES[path];
    if (!found) throw new Error(`${path} is reloadable; add a case that shows its effect.`);
    const given = merged(BASE, found.given ?? {});
    // Also fills every bucket again.
    await reload(BASE);
    await reload(given);
    if ('before' in found) expect(await found.observe()).toEqual(found.before);
    const [section = '', key = ''] = path.split('.');
    expect(await reload(merged(given, { [section]: { [key]: found.value } }))).toContain(
      `["${path}"],"waiting":[]`,
    );
    expect(await found.observe()).toEqual(found.after);
  });
});
