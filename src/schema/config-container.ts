// The section of the container provider.
import { type Static, Type } from 'typebox';
import { choice, duration, flag, integer, section, text } from './config-kinds.ts';

const ContainerTls = section('TLS to providers.container.host; any of the files switches it on.', {
  ca_file: text(
    '',
    "PEM file of the authority that signed the engine's certificate; empty uses the system's authorities.",
  ),
  cert_file: text('', 'PEM file of the client certificate.'),
  key_file: text('', 'PEM file of the private key.'),
  verify: flag(true, 'Refuse an engine whose certificate is not signed by that authority.'),
});

const CAPABILITY = '^(ALL|(CAP_)?[A-Z][A-Z_]{1,30})$';
const words = (fallback: string[], pattern: string, description: string) =>
  Type.Array(Type.String({ minLength: 1, pattern }), { default: fallback, description });

export const ContainerConfig = section('Sandboxes in containers of a Docker-compatible engine.', {
  enabled: flag(true, 'Offer this provider.'),
  socket: text('', 'Unix socket of the engine; empty means /var/run/docker.sock.'),
  host: text(
    '',
    'TCP address of the engine, used instead of a socket, for example tcp://engine.internal:2376.',
  ),
  tls: ContainerTls,
  runtime: text('', "Runtime of the engine, for example runsc; empty uses the engine's default.", {
    pattern: '^[A-Za-z0-9._/-]{0,128}$',
  }),
  link: choice(
    ['attach', 'auto'],
    'auto',
    "How the server reaches into a container: attach uses the engine's streams; auto adds a socket in a read-only mount of an empty folder, where engine and runtime permit it, which makes commands and files faster.",
  ),
  network_mode: text(
    'svc',
    'Network of sandboxes: svc (a dedicated bridge on which they cannot reach each other), none, or the name of a network.',
    { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
  ),
  seccomp_profile: text(
    'svc',
    "svc (this service's profile), default (the engine's), unconfined, or the path of a profile.",
  ),
  read_only_rootfs: flag(false, 'Mount the image read-only; /workspace and tmpfs are kept in memory.'),
  pids_limit: integer(
    256,
    16,
    4_194_304,
    "Maximum number of processes and threads of a sandbox. Under gVisor the limit is eight times as high because gVisor's own threads count; a sandbox that reaches it ends, while other runtimes only refuse new processes.",
  ),
  user: text('', "User of sandboxes: uid[:gid] or a name in the image; empty uses the image's user.", {
    pattern: '^[A-Za-z0-9_.-]{0,64}(:[A-Za-z0-9_.-]{1,64})?$',
  }),
  dropped_caps: words(['ALL'], CAPABILITY, 'Capabilities to drop.'),
  added_caps: words(
    ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SETGID', 'SETUID', 'KILL', 'NET_BIND_SERVICE'],
    CAPABILITY,
    'Capabilities to add back; package installers and su need these. [] is the strict setting.',
  ),
  no_new_privileges: flag(
    true,
    'Programs get no more privileges than the one that starts them: set-user-id programs such as sudo do not change the user.',
  ),
  tmpfs: words(['/tmp'], '^/[^\\s,:]+$', 'Folders kept in memory when the image is read-only.'),
  workspace_mb: integer(512, 1, 1_048_576, 'Size limit of /workspace when it is kept in memory.'),
  pull: choice(
    ['missing', 'never', 'always'],
    'missing',
    'When to pull images: if missing, never, or at every spawn.',
  ),
  allowed_images: words(
    ['*'],
    '^[A-Za-z0-9*\\[][A-Za-z0-9._/:@+*\\[\\]-]{0,511}$',
    'Images that sandboxes may use, for example registry.example/team/**. * matches part of a name, ** any number of parts, and * alone every image. Registries at IP addresses or internal names are allowed only if a pattern names their host in full.',
  ),
  pull_timeout: duration('15m', 'Timeout of a pull.'),
  pull_concurrency: integer(4, 1, 64, 'Maximum number of concurrent pulls; further pulls wait.'),
  pulls_per_owner: integer(
    2,
    1,
    64,
    'Maximum number of running and waiting pulls of one owner; further pulls are rejected.',
  ),
  prune_images_after: duration(
    '720h',
    'Remove images that this server pulled after they were unused for this long; 0s means never.',
  ),
  pulled_images_mb: integer(
    0,
    0,
    1_073_741_824,
    'Size limit for images that this server pulled; the least recently used ones are removed first. 0 means unlimited.',
  ),
  start_concurrency: integer(
    8,
    1,
    256,
    'Maximum number of concurrent container starts; further starts wait.',
  ),
  start_timeout: duration('60s', 'Timeout for creating and for starting a container.'),
  max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of sandboxes of this provider; 0 means unlimited.'),
  max_memory_mb: integer(
    0,
    0,
    1_048_576,
    'Maximum memory of a sandbox; a larger request is reduced to it, with a warning. 0 means unlimited.',
  ),
});
export type ContainerConfig = Static<typeof ContainerConfig>;
