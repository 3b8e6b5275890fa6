// A database file with rows in every table, and texts that are hard to copy.
import Sqlite from 'better-sqlite3';
import { migrate } from '../../src/store/sqlite/migrate.ts';

const AT = '2026-01-01T00:00:00.000Z';
export const FULL_INSTANCE = '11111111-2222-4333-8444-555555555555';
/** Everything that a line format could trip over; NUL only where callers may send it. */
const HARD = 'a\tb\nc\rd\\e\\N "q" \u{f0000}0 é 😀';
const pairs = JSON.stringify([['k', `${HARD}\0\ud800`]]);
const WORKER = 'edge-1';

const ROWS: Readonly<Record<string, readonly Record<string, string | number | null>[]>> = {
  instance: [{ id: FULL_INSTANCE, key: 'ab'.repeat(32), created_at: AT }],
  sandboxes: [
    sandbox('sb-far', {
      state: 'running',
      worker_id: WORKER,
      provider: 'microvm',
      runtime_id: HARD,
      owner_id: 'me',
    }),
    sandbox('sb-hosted', { state: 'running', provider: 'hosted', warnings: JSON.stringify([HARD]) }),
    sandbox('sb-ended', {
      state: 'destroyed',
      ended_at: AT,
      end_reason: 'destroyed',
      ended_by: 'admin:none',
    }),
  ],
  warm_sandboxes: [warm('sb-warm', WORKER)],
  owner_quotas: [
    {
      owner_id: 'me',
      max_sandboxes: 5,
      max_ttl: '1h',
      max_exec_timeout: '0s',
      created_at: AT,
      updated_at: AT,
    },
  ],
  templates: [
    {
      ...{
        owner_id: '',
        name: 't',
        description: HARD,
        version: 3,
        image: 'host',
        provider: null,
        memory_mb: 256,
      },
      ...{ vcpus: 1, ttl: '30m', network: null, metadata: '[]', env: pairs, setup: '["true"]', prewarm: 0 },
      ...{ created_at: AT, updated_at: AT, worker_id: null, worker_labels: '{"a":"b"}' },
    },
  ],
  keys: [
    {
      ...{ id: 'key-aaaaaaaaaaaa', name: 'ci', hash: '0f'.repeat(32), prefix: 'svc_abcd', owner_id: 'me' },
      ...{ scopes: '["use"]', created_at: AT, created_by: 'admin:none' },
    },
  ],
  sessions: [
    {
      ...{ id: 'ses-aaaaaaaaaaaa', hash: 'd'.repeat(64), parent: 'key-aaaaaaaaaaaa', actor: 'key:ci' },
      ...{ owner_id: 'ann', scopes: '["use"]', created_at: AT, expires_at: AT, ends_at: AT },
    },
  ],
  secrets: [
    {
      ...{ name: 'credential/openai', facts: '{"hosts":["api.openai.com"]}' },
      ...{ sealed: `v1.00000000.${'A'.repeat(40)}`, created_at: AT, updated_at: AT },
    },
  ],
  workers: [
    {
      ...{ id: WORKER, hostname: 'h', status: 'online', providers: '["microvm"]', capabilities: '[]' },
      ...{
        max_sandboxes: 4,
        memory_mb: 100,
        vcpus: 2,
        rpc_url: 'http://10.0.0.1:1',
        last_heartbeat: AT,
        drain: 0,
      },
      ...{ created_at: AT, updated_at: AT, labels: '{"z":"1"}', images: '[]' },
    },
  ],
  leases: [{ resource_id: 'sb-far', holder_id: WORKER, generation: 7, expires_at: AT, created_at: AT }],
  idempotency: [
    { scope: 'me', key: 'k', fingerprint: 'f', sandbox_id: 'sb-far', response: '{"a":1}', created_at: AT },
  ],
  usage_hours: [
    {
      ...{ owner_id: 'me', hour: 490_000, provider: 'microvm', template: HARD, sandboxes: 2 },
      ...{ sandbox_ms: 9_007_199_254_740_991, vcpu_ms: 2, memory_mb_ms: 3, cpu_us: 4, used_mb_ms: 5 },
      ...{ rx_bytes: 6, tx_bytes: 7, execs: 8, exec_ms: 9 },
    },
  ],
  usage_state: [{ one: 1, complete_until: AT }],
  execs: [
    {
      ...{
        id: 4,
        sandbox_id: 'sb-far',
        exec_id: 'ex-1',
        command: `${HARD}\0`,
        detached: 0,
        actor: 'admin:none',
      },
      ...{ started_at: AT, ended_at: AT, exit_code: 137, signal: 'KILL' },
    },
  ],
  events: [
    event(1, 'sandbox.created', 'sb-far'),
    event(12, 'sandbox.error', 'sb-ended'),
    // Two ends of one sandbox: an earlier version wrote both.
    event(13, 'sandbox.destroyed', 'sb-ended'),
    {
      id: 900,
      type: 'quota.updated',
      timestamp: AT,
      sandbox_id: null,
      owner_id: 'me',
      data: null,
      actor: null,
    },
  ],
  event_gaps: [{ owner_id: 'me', through: 800 }],
  audit: [
    {
      ...{
        id: 7,
        actor: 'admin',
        user_id: `${HARD}\0`,
        method: 'GET',
        path: '/x',
        status: 200,
        duration_ms: 1e-7,
      },
      ...{
        request_id: 'r',
        remote_addr: '127.0.0.1',
        user_agent: null,
        created_at: AT,
        target: 'sb-far',
        frequent: 1,
      },
    },
  ],
};

function sandbox(id: string, more: Record<string, string | number | null>) {
  return {
    ...{ id, epoch: 2, provider: 'userspace', image: HARD, memory_mb: 256, vcpus: 1, network: 'default' },
    ...{ created_at: AT, expires_at: AT, metadata: pairs, env: '[]', worker_id: 'local', ...more },
  };
}

function warm(id: string, worker_id: string) {
  return {
    ...{
      id,
      epoch: 1,
      state: 'ready',
      template: 't',
      shape: 's',
      provider: 'microvm',
      image: 'host',
      memory_mb: 1,
    },
    ...{ vcpus: 1, network: 'default', runtime_id: 'x', warnings: '[]', created_at: AT, worker_id },
  };
}

function event(id: number, type: string, sandbox_id: string) {
  return {
    id,
    type,
    timestamp: AT,
    sandbox_id,
    owner_id: 'me',
    data: JSON.stringify({ a: HARD }),
    actor: null,
  };
}

/** Tables that the migrations fill with a single row. */
const COUNTERS = `UPDATE event_ids SET reserved_through = 20000; UPDATE pool_uids SET given = 5;
  UPDATE key_changes SET changes = 9; UPDATE sqlite_sequence SET seq = 4000 WHERE name = 'audit';
  INSERT INTO clock_mark VALUES (1, 'boot', 5)`;

/** `extra` runs at the end. */
export function fullDatabase(path: string, extra = ''): string {
  const db = new Sqlite(path);
  db.pragma('journal_mode = WAL');
  migrate(db);
  for (const [table, rows] of Object.entries(ROWS))
    for (const row of rows) {
      const names = Object.keys(row);
      db.prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`).run(Object.values(row));
    }
  db.exec(`${COUNTERS}; ${extra}`);
  db.close();
  return path;
}

/** A prewarmed and a live sandbox, and a VM of the pool, that need this host. */
export const ROWS_OF_THIS_HOST = `
  INSERT INTO sandboxes (id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id)
    VALUES ('sb-here', 1, 'running', 'userspace', 'host', 1, 1, 'default', '${AT}', '${AT}', '[]', '[]', 'local');
  INSERT INTO warm_sandboxes (id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, warnings, created_at)
    VALUES ('sb-warm-here', 1, 'ready', 't', 's', 'userspace', 'host', 1, 1, 'default', '[]', '${AT}');
  INSERT INTO pool_vms VALUES ('vm-here', 'userspace', 'running', 'host', 512, 2, '${AT}', 0, '[]', NULL)`;

/** All rows of the tables as the file has them, but what is of one machine or counted by triggers. */
export function rowsIn(path: string): Record<string, unknown[]> {
  const db = new Sqlite(path, { readonly: true });
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'",
    )
    .pluck()
    .all();
  const found = tables
    .filter((table) => table !== 'clock_mark')
    .map((table) => [table, db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all()] as const);
  db.close();
  return Object.fromEntries(found);
}
