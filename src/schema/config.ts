// THE configuration: every key, its default, its meaning. Types, validation, SVC_ names, secret paths, svc.yaml,
// `svc config schema` and svc.yaml(5) are derived from it and from the sections it imports; a key exists nowhere else.
// Own keywords: `duration: true` (text like 30m), `secret: true` (masked everywhere, has a `_file` twin).
// A default that depends on the host (root or not, terminal or not) is absent here and set by config/host-defaults.ts;
// its words are in `defaultText`.
import { type Static, Type } from 'typebox';
import { CustomConfig, HostedConfig } from './config-backends.ts';
import { ConsoleConfig } from './config-console.ts';
import { ContainerConfig } from './config-container.ts';
import { DatabaseConfig } from './config-database.ts';
import { E2bConfig } from './config-e2b.ts';
import { EgressConfig } from './config-egress.ts';
import { ImagesConfig } from './config-images.ts';
import {
  choice,
  duration,
  flag,
  hostText,
  integer,
  secret,
  secrets,
  section,
  strings,
  text,
  WORKER_ID,
} from './config-kinds.ts';
import { MicrovmConfig } from './config-microvm.ts';
import { PrewarmConfig } from './config-prewarm.ts';
import { RateLimitConfig } from './config-rate-limit.ts';
import { UsageConfig } from './config-usage.ts';
import { WorkerConfig } from './config-worker.ts';

const MEBIBYTE = 1024 * 1024;

export const UserspaceConfig = section('Sandboxes made of Linux namespaces: no daemon, no image registry.', {
  enabled: flag(true, 'Offer this provider.'),
  runner: choice(
    ['auto', 'bwrap', 'unshare', 'proot'],
    'auto',
    'The program that creates the namespaces; auto uses bwrap, then unshare. proot does not isolate: use it only for trusted code where namespaces are unavailable.',
  ),
  runner_path: text('', 'Path of the runner program; empty searches PATH.'),
  rootfs_path: text(
    '',
    'Folder used as the read-only root; empty means the host view: /usr of the host and private folders for the rest.',
  ),
  images: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$' }),
    Type.String({ minLength: 1 }),
    {
      additionalProperties: false,
      default: {},
      description: 'Image names and their rootfs folders.',
    },
  ),
  workspace: choice(
    ['memory', 'disk'],
    'memory',
    'Where /workspace is stored: memory (a hard limit; counts as memory) or disk (a folder in workspace_base; only the size of each file is limited).',
  ),
  workspace_base: hostText({
    description: 'Folder for workspaces on disk.',
    defaultText: '/var/lib/svc/userspace for root, else ~/.svc/userspace',
  }),
  network: choice(
    ['none', 'user', 'host'],
    'none',
    'none: only its own loopback. user: outgoing connections to all public IPv4 addresses, for trusted code; needs slirp4netns (docs/network.md). host: shares the network of this machine and has no previews.',
  ),
  name_servers: strings(
    'IPv4 addresses of the name servers of sandboxes with network: user. Empty means those of this machine.',
    { pattern: '^[0-9.]+$' },
  ),
  user: choice(
    ['sandbox', 'image', 'root'],
    'sandbox',
    'User of commands in sandboxes on images of the image store: sandbox (uid 1000), image (the user that the image names), or root (uid 0, for installers such as apt). It is one unprivileged user of the host in each case. As uid 0, calls that change owners and users report success and change nothing. Needs the runner unshare, and excludes pool.enabled.',
  ),
  languages: strings(
    'Interpreters that the health check looks for inside the sandbox, for example python3.',
    {
      pattern: '^[A-Za-z0-9._+-]+$',
    },
  ),
  max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of sandboxes of this provider; 0 means unlimited.'),
  max_memory_mb: integer(
    512,
    16,
    1_048_576,
    'Maximum memory of a sandbox; a larger request is reduced to it, with a warning.',
  ),
  max_disk_mb: integer(1024, 1, 1_048_576, 'Size limit of /workspace and /tmp.'),
});
export type UserspaceConfig = Static<typeof UserspaceConfig>;

export const Config = section('svc configuration', {
  server: section('The HTTP server.', {
    host: text('127.0.0.1', 'Address to listen on.'),
    port: integer(7423, 0, 65535, 'Port to listen on; 0 picks a free port.'),
    allow_insecure: flag(
      false,
      'Allow a non-loopback address without authentication. Do not use in production.',
    ),
    body_limit: integer(MEBIBYTE, 1024, 1024 * MEBIBYTE, 'Largest JSON body in bytes.'),
    max_json_file: integer(
      128 * MEBIBYTE,
      1024,
      1024 * MEBIBYTE,
      'Largest JSON body of a file write in bytes.',
    ),
    max_file_size: integer(
      1024 * MEBIBYTE,
      1024,
      1024 * 1024 * MEBIBYTE,
      'Largest raw file upload in bytes.',
    ),
    max_archive_size: integer(
      16 * 1024 * MEBIBYTE,
      1024,
      1024 * 1024 * MEBIBYTE,
      'Largest archive of a folder that is uploaded into a sandbox, in bytes.',
    ),
    buffer_limit: integer(
      0,
      0,
      1024 * 1024 * MEBIBYTE,
      'Bytes of request bodies, outputs, lists and responses kept in memory for all calls together; 0 means a quarter of the heap or an eighth of the memory, whichever is less.',
    ),
    max_connections: integer(
      0,
      0,
      1_000_000,
      'Maximum number of connections; 0 means 20,000. A quarter of the file descriptors of the process, at least 1,024 or half of them, stays reserved for other uses.',
    ),
    max_connections_per_address: integer(
      512,
      0,
      1_000_000,
      'Maximum number of connections from one IPv4 address or IPv6 /64, except loopback and trusted_proxies; 0 means unlimited.',
    ),
    cors_allowed_origins: strings(
      'Browser origins that may call the API, for example https://app.example.com; * allows any.',
    ),
    trusted_proxies: strings(
      'Addresses and CIDR blocks of proxies whose X-Forwarded-For is trusted, for example 10.0.0.0/8.',
    ),
    preview_domain: text(
      '',
      'Domain for previews of sandbox ports, as <port>-<sandbox-id>.<domain>, for example localhost; empty disables previews.',
      { pattern: '^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.(?!$)|$)){0,32}$', maxLength: 180 },
    ),
    preview_access: choice(
      ['public', 'signed'],
      'public',
      'Who may open previews: anyone who knows the name, or only holders of a signed link.',
    ),
    preview_scheme: choice(
      ['auto', 'http', 'https'],
      'auto',
      'Scheme of preview links: http or https on the default port, as served by a proxy in front; auto uses the scheme of the call.',
    ),
    advertise_url: text(
      '',
      'URL at which operators reach this server itself, for example https://svc-1.internal, where several servers share a database; empty means http, the host name and the port.',
      { pattern: '^(?:https?://[^\\s?#@]+)?$', maxLength: 300 },
    ),
    preview_signing_key: secret('The key that signs links; if empty, a key is generated with the database.'),
    shutdown_timeout: duration('30s', 'How long a shutdown waits for calls in flight.'),
  }),
  auth: section('Authentication and authorization.', {
    enabled: flag(false, 'Require an API key on every call.'),
    api_key: secret('The API key that clients send as X-API-Key.'),
    api_key_previous: secret('The previous API key; it stays valid while clients change to the new one.'),
    admin_api_key: secret('The administrator key, sent as X-Admin-API-Key or X-API-Key.'),
    admin_api_key_previous: secret(
      'The previous administrator key; it stays valid while administrators change to the new one.',
    ),
    admin_fallback_enabled: flag(true, 'If no admin key is set, the API key counts as admin.'),
    admin_audit_retention: duration('2160h', 'How long audit records of admin calls are kept.'),
    enforce_owner: flag(false, 'Require X-User-ID and show each owner only their own records.'),
    quota_writes: choice(
      ['api', 'admin'],
      'api',
      'The key required to change quotas under /quotas; use admin if owners must not set their own.',
    ),
    worker_token: secret('One token shared by all workers, which it does not tell apart; for staging.'),
    worker_tokens: secrets(
      WORKER_ID,
      'Worker tokens by worker id; a value may be {file: PATH}. SVC_AUTH_WORKER_TOKENS_EDGE_1 sets the token of edge-1.',
    ),
    worker_signing_key: secret('The key that signs worker tokens and derives a secret for each worker.'),
    worker_signing_key_previous: secret(
      'The previous signing key; it stays valid while workers change to the new one.',
    ),
    worker_revoked_tokens: strings('Ids (jti) of revoked worker tokens.', { maxLength: 128 }),
  }),
  worker: WorkerConfig,
  rate_limit: RateLimitConfig,
  usage: UsageConfig,
  prewarm: PrewarmConfig,
  defaults: section('Defaults and limits of spawns and execs.', {
    image: text('alpine:latest', 'Runtime image.', { minLength: 1, maxLength: 512 }),
    memory_mb: integer(512, 16, 1_048_576, 'Memory limit in megabytes.'),
    vcpus: integer(1, 1, 256, 'Virtual processors.'),
    ttl: duration('30m', 'Lifetime of a sandbox.'),
    max_ttl: duration('24h', 'Maximum lifetime of a sandbox; 0s means unlimited.'),
    default_exec_timeout: duration('60s', 'Timeout of an exec.'),
    max_exec_timeout: duration('10m', 'Maximum timeout of an exec.'),
    max_exec_output: integer(
      10 * MEBIBYTE,
      1024,
      1024 * MEBIBYTE,
      'Bytes kept of each output stream of a non-streaming exec.',
    ),
    max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of active sandboxes; 0 means unlimited.'),
    max_prewarm: integer(
      32,
      0,
      10_000,
      'Maximum number of prewarmed sandboxes for all templates together; 0 disables prewarming.',
    ),
    max_sandboxes_per_owner: integer(
      0,
      0,
      1_000_000,
      'Maximum number of active sandboxes of an owner without a quota; 0 means unlimited.',
    ),
    strict: flag(
      false,
      'Reject a spawn whose sandbox would differ from the request, unless the request sets strict to false.',
    ),
    spawn_overflow: choice(
      ['reject', 'queue'],
      'reject',
      'What happens when capacity is exhausted: reject the spawn or queue it.',
    ),
    spawn_queue_timeout: duration('30s', 'Maximum time a spawn waits in the queue.'),
    max_spawn_queue: integer(100, 1, 1_000_000, 'Capacity of the queue.'),
  }),
  pool: section('The pool: virtual machines shared by sandboxes of several users.', {
    enabled: flag(
      false,
      'Run sandboxes in shared VMs. Every call then requires X-User-ID, regardless of auth.enforce_owner.',
    ),
    max_vms: integer(10, 1, 4000, 'Maximum number of VMs.'),
    max_users_per_vm: integer(5, 1, 1000, 'Maximum number of users per VM.'),
    image: text('alpine:latest', 'Image of the VMs.', { minLength: 1, maxLength: 512 }),
    memory_mb: integer(2048, 16, 1_048_576, 'Memory of a VM in megabytes, shared by its sandboxes.'),
    vcpus: integer(2, 1, 256, 'Virtual processors of a VM.'),
  }),
  audit: section('The audit. auth.admin_audit_retention is how long it is kept.', {
    execs: flag(false, 'Also record calls inside sandboxes: commands, file changes and preview links.'),
    max_records: integer(
      250_000,
      1000,
      100_000_000,
      'Newest records among which calls about sandboxes are kept; other records are kept for the entire retention.',
    ),
  }),
  database: DatabaseConfig,
  logging: section('The log, on standard error.', {
    level: choice(['debug', 'info', 'warn', 'error'], 'info', 'Minimum severity of log lines.'),
    format: Type.Enum(['json', 'pretty'], {
      description: 'json: one object per line; pretty: for people.',
      defaultText: 'pretty on a terminal, otherwise json',
    }),
  }),
  images: ImagesConfig,
  egress: EgressConfig,
  console: ConsoleConfig,
  secrets: section('Secrets that the server stores for others, such as egress credentials.', {
    key: secret(
      'The key that seals them in the database, at least 32 characters and equal on all servers of a database; if empty and database.path is used, a key is generated beside that file. Backups do not contain it.',
    ),
  }),
  e2b: E2bConfig,
  mcp: section('The server of the Model Context Protocol, for agents (docs/mcp.md).', {
    enabled: flag(
      false,
      'Serve it at /mcp and /mcp/operate. Without authentication it is served on loopback addresses only.',
    ),
  }),
  providers: section('The providers that run sandboxes.', {
    default: choice(
      ['auto', 'container', 'userspace', 'microvm', 'hosted', 'custom'],
      'auto',
      'Provider of spawns that do not name one; auto means the first healthy provider.',
    ),
    reconcile_interval: duration(
      '30s',
      'How often records are reconciled with the sandboxes that providers run; at least 1s.',
    ),
    container: ContainerConfig,
    userspace: UserspaceConfig,
    microvm: MicrovmConfig,
    hosted: HostedConfig,
    custom: CustomConfig,
  }),
});
export type Config = Static<typeof Config>;
