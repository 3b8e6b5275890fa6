// THE configuration: every key, its default, its meaning. Types, validation, SVC_ names, secret paths, svc.yaml,
// `svc config schema` and svc.yaml(5) are derived from it and from the sections it imports; a key exists nowhere else.
// Own keywords: `duration: true` (text like 30m), `secret: true` (masked everywhere, has a `_file` twin).
// A default that depends on the host (root or not, terminal or not) is absent here and set by config/host-defaults.ts;
// its words are in `defaultText`.
import { type Static, Type } from 'typebox';
import { CustomConfig, HostedConfig } from './config-backends.ts';
import { ContainerConfig } from './config-container.ts';
import { DatabaseConfig } from './config-database.ts';
import {
  choice,
  duration,
  flag,
  hostText,
  secret,
  secrets,
  section,
  strings,
  text,
  WORKER_ID,
  whole,
} from './config-kinds.ts';
import { MicrovmConfig } from './config-microvm.ts';
import { RateLimitConfig } from './config-rate-limit.ts';
import { WorkerConfig } from './config-worker.ts';

const MEBIBYTE = 1024 * 1024;

export const UserspaceConfig = section('Sandboxes from namespaces alone: no daemon, no image registry.', {
  enabled: flag(true, 'Offer this provider.'),
  runner: choice(
    ['auto', 'bwrap', 'unshare', 'proot'],
    'auto',
    'What makes the namespaces; auto takes bwrap, then unshare. proot separates nothing: for trusted code where no namespace can be had.',
  ),
  runner_path: text('', 'Path of the runner program; empty finds it in PATH.'),
  rootfs_path: text(
    '',
    'Folder that is the read-only root; empty is the host view: /usr and a private rest.',
  ),
  images: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$' }),
    Type.String({ minLength: 1 }),
    {
      additionalProperties: false,
      default: {},
      description: 'Image names and the rootfs folders they stand for.',
    },
  ),
  workspace: choice(
    ['memory', 'disk'],
    'memory',
    'Where /workspace lies: memory (bounded hard, counts as memory) or disk (a folder in workspace_base, each file bounded).',
  ),
  workspace_base: hostText({
    description: 'Folder for workspaces on disk.',
    defaultText: '/var/lib/svc/userspace for root, else ~/.svc/userspace',
  }),
  network: choice(
    ['none', 'host'],
    'none',
    'none: its own loopback only. host: shares the network of this machine, no previews.',
  ),
  languages: strings('Interpreters that health looks for inside, for example python3.', {
    pattern: '^[A-Za-z0-9._+-]+$',
  }),
  max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes of this provider at most; 0 is no cap.'),
  max_memory_mb: whole(
    512,
    16,
    1_048_576,
    'The most memory a sandbox gets; a larger wish is cut to it and named in warnings.',
  ),
  max_disk_mb: whole(1024, 1, 1_048_576, 'The most that /workspace and /tmp hold.'),
});
export type UserspaceConfig = Static<typeof UserspaceConfig>;

export const Config = section('svc configuration', {
  server: section('The HTTP server.', {
    host: text('127.0.0.1', 'Address to listen on.'),
    port: whole(7423, 0, 65535, 'Port to listen on; 0 takes a free one.'),
    allow_insecure: flag(false, 'Allow a non-loopback address without authentication. Never in production.'),
    body_limit: whole(MEBIBYTE, 1024, 1024 * MEBIBYTE, 'Largest JSON body in bytes.'),
    max_json_file: whole(
      128 * MEBIBYTE,
      1024,
      1024 * MEBIBYTE,
      'Largest JSON body of a file write in bytes.',
    ),
    max_file_size: whole(1024 * MEBIBYTE, 1024, 1024 * 1024 * MEBIBYTE, 'Largest raw file upload in bytes.'),
    buffer_limit: whole(
      0,
      0,
      1024 * 1024 * MEBIBYTE,
      'Bytes of bodies, outputs, lists and answers kept in memory at once, for all calls together; 0 is a quarter of the heap or an eighth of the memory, whichever is less.',
    ),
    max_connections: whole(
      0,
      0,
      1_000_000,
      'Connections at once; 0 is 20,000. A quarter of the files that the process may have open is kept for other things, and at least 1,024 of them or a half.',
    ),
    max_connections_per_address: whole(
      512,
      0,
      1_000_000,
      'Connections from one IPv4 address or IPv6 /64 at once, other than loopback and trusted_proxies; 0 is no bound.',
    ),
    cors_allowed_origins: strings(
      'Browser origins that may call, for example https://app.example.com; * is any.',
    ),
    trusted_proxies: strings(
      'Addresses and CIDR blocks of proxies whose X-Forwarded-For is believed, for example 10.0.0.0/8.',
    ),
    preview_domain: text(
      '',
      'Name below which sandboxes show their ports, as <port>-<sandbox-id>.<name>, for example localhost; empty is none.',
      { pattern: '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.(?!$)|$)){0,32}$', maxLength: 180 },
    ),
    preview_access: choice(
      ['public', 'signed'],
      'public',
      'Who may open previews: all who know the name, or only those with a signed link.',
    ),
    preview_scheme: choice(
      ['auto', 'http', 'https'],
      'auto',
      'How links begin: http or https on the usual port, as a proxy in front serves them; auto is as the call came.',
    ),
    preview_signing_key: secret('The key that signs links; made with the database unless given.'),
    shutdown_timeout: duration('30s', 'How long a stop waits for calls in flight.'),
  }),
  auth: section('Who may call.', {
    enabled: flag(false, 'Require an API key on every call.'),
    api_key: secret('The key clients send as X-API-Key.'),
    admin_api_key: secret('The key of administrators, sent as X-Admin-API-Key or X-API-Key.'),
    admin_fallback_enabled: flag(true, 'Without an admin key the API key counts as admin.'),
    admin_audit_retention: duration('2160h', 'How long the audit of admin calls is kept.'),
    enforce_owner: flag(false, 'Require X-User-ID and show each owner only what is theirs.'),
    quota_writes: choice(
      ['api', 'admin'],
      'api',
      'Which key may change owner quotas under /quotas; admin where owners must not set their own.',
    ),
    worker_token: secret('One token for all workers, which it does not keep apart: for staging.'),
    worker_tokens: secrets(
      WORKER_ID,
      'Tokens of single workers by their ids; a value may be {file: PATH}. SVC_AUTH_WORKER_TOKENS_EDGE_1 sets that of edge-1.',
    ),
    worker_signing_key: secret('The key that signs tokens of workers and makes a secret for each.'),
    worker_signing_key_previous: secret('The signing key before; holds too while workers change over.'),
    worker_revoked_tokens: strings('Ids (jti) of signed tokens that hold no longer.', { maxLength: 128 }),
  }),
  worker: WorkerConfig,
  rate_limit: RateLimitConfig,
  defaults: section('What a spawn or exec gets when it does not say.', {
    image: text('alpine:latest', 'Runtime image.', { minLength: 1, maxLength: 512 }),
    memory_mb: whole(512, 16, 1_048_576, 'Memory limit in megabytes.'),
    vcpus: whole(1, 1, 256, 'Virtual processors.'),
    ttl: duration('30m', 'Life of a sandbox.'),
    max_ttl: duration('24h', 'Longest life that may be asked for; 0s is no cap.'),
    default_exec_timeout: duration('60s', 'Deadline of an exec.'),
    max_exec_timeout: duration('10m', 'Longest deadline that may be asked for.'),
    max_exec_output: whole(
      10 * MEBIBYTE,
      1024,
      1024 * MEBIBYTE,
      'Bytes kept of each output of a plain exec.',
    ),
    max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes alive at once; 0 is no cap.'),
    max_prewarm: whole(
      32,
      0,
      10_000,
      'Ready sandboxes kept at most, for all templates together; 0 keeps none.',
    ),
    max_sandboxes_per_owner: whole(
      0,
      0,
      1_000_000,
      'Sandboxes of one owner alive at once, unless its quota says otherwise; 0 is no cap.',
    ),
    spawn_overflow: choice(
      ['reject', 'queue'],
      'reject',
      'What a spawn meets when all places are taken: a refusal, or a queue.',
    ),
    spawn_queue_timeout: duration('30s', 'How long a spawn waits in the queue at most.'),
    max_spawn_queue: whole(100, 1, 1_000_000, 'Spawns that may wait in the queue.'),
  }),
  pool: section('Sandboxes of several users in shared VMs.', {
    enabled: flag(
      false,
      'Put sandboxes into shared VMs; X-User-ID is then required on every call, whatever auth.enforce_owner says.',
    ),
    max_vms: whole(10, 1, 4000, 'VMs at once.'),
    max_users_per_vm: whole(5, 1, 1000, 'Users whose sandboxes share a VM.'),
    image: text('alpine:latest', 'Image of the VMs.', { minLength: 1, maxLength: 512 }),
    memory_mb: whole(2048, 16, 1_048_576, 'Memory of a VM in megabytes, for all in it.'),
    vcpus: whole(2, 1, 256, 'Virtual processors of a VM.'),
  }),
  database: DatabaseConfig,
  logging: section('The log, on standard error.', {
    level: choice(['debug', 'info', 'warn', 'error'], 'info', 'Least severe line that is written.'),
    format: Type.Enum(['json', 'pretty'], {
      description: 'json: a line is an object; pretty: for people.',
      defaultText: 'pretty on a terminal, else json',
    }),
  }),
  providers: section('What runs sandboxes.', {
    default: choice(
      ['auto', 'container', 'userspace', 'microvm', 'hosted', 'custom'],
      'auto',
      'Provider of a spawn that names none; auto is the first healthy one.',
    ),
    reconcile_interval: duration(
      '30s',
      'How often records are compared with what providers really run; at least 1s.',
    ),
    container: ContainerConfig,
    userspace: UserspaceConfig,
    microvm: MicrovmConfig,
    hosted: HostedConfig,
    custom: CustomConfig,
  }),
});
export type Config = Static<typeof Config>;
