// The section of the container provider.
import { type Static, Type } from 'typebox';
import { choice, duration, flag, section, text, whole } from './config-kinds.ts';

const ContainerTls = section('TLS to providers.container.host; any of the files switches it on.', {
  ca_file: text('', "PEM file of the authority that signed the engine's certificate; empty is the system's."),
  cert_file: text('', 'PEM file of our certificate.'),
  key_file: text('', 'PEM file of the key to it.'),
  verify: flag(true, 'Refuse an engine whose certificate is not signed by that authority.'),
});

const CAPABILITY = '^(ALL|(CAP_)?[A-Z][A-Z_]{1,30})$';
const words = (fallback: string[], pattern: string, description: string) =>
  Type.Array(Type.String({ minLength: 1, pattern }), { default: fallback, description });

export const ContainerConfig = section('Sandboxes in containers of a Docker-compatible engine.', {
  enabled: flag(true, 'Offer this provider.'),
  socket: text('', 'Unix socket of the engine; empty is /var/run/docker.sock.'),
  host: text('', 'TCP address of the engine in place of a socket, for example tcp://engine.internal:2376.'),
  tls: ContainerTls,
  runtime: text('', 'Runtime of the engine, for example runsc; empty is its default.', {
    pattern: '^[A-Za-z0-9._/-]{0,128}$',
  }),
  network_mode: text(
    'svc',
    'Network of sandboxes: svc (a bridge of our own on which they cannot reach each other), none, or the name of one.',
    { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' },
  ),
  seccomp_profile: text('svc', "svc (ours), default (the engine's), unconfined, or the path of a profile."),
  read_only_rootfs: flag(false, 'The image is read-only; /workspace and tmpfs are memory.'),
  pids_limit: whole(
    256,
    16,
    4_194_304,
    'Processes and threads of a sandbox at most. Under gVisor eight times as many, since its own threads count: a sandbox that uses them up ends, where elsewhere a command is refused.',
  ),
  user: text('', "User of sandboxes, uid[:gid] or a name of the image; empty is the image's.", {
    pattern: '^[A-Za-z0-9_.-]{0,64}(:[A-Za-z0-9_.-]{1,64})?$',
  }),
  dropped_caps: words(['ALL'], CAPABILITY, 'Capabilities taken away.'),
  added_caps: words(
    ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'SETGID', 'SETUID', 'KILL', 'NET_BIND_SERVICE'],
    CAPABILITY,
    'Capabilities given back, what package installers and su need; [] is the strict setting.',
  ),
  tmpfs: words(['/tmp'], '^/[^\\s,:]+$', 'Folders that are memory where the image is read-only.'),
  workspace_mb: whole(512, 1, 1_048_576, 'The most that /workspace holds where it is memory.'),
  pull: choice(
    ['missing', 'never', 'always'],
    'missing',
    'When images are pulled: those the engine lacks, none, or each time.',
  ),
  allowed_images: words(
    ['*'],
    '^[A-Za-z0-9*\\[][A-Za-z0-9._/:@+*\\[\\]-]{0,511}$',
    'Images that sandboxes may have, for example registry.example/team/**; * stands for part of a name, ** for any number of parts, * alone for every image. Registries that are addresses or internal names only where one names their host in full.',
  ),
  pull_timeout: duration('15m', 'How long a pull may take.'),
  pull_concurrency: whole(4, 1, 64, 'Images pulled at once; further ones wait.'),
  pulls_per_owner: whole(
    2,
    1,
    64,
    'Pulls of one owner under way or waiting at once; further ones are refused.',
  ),
  prune_images_after: duration(
    '720h',
    'Images that this server pulled are removed when nothing has used them for so long; 0s is never.',
  ),
  pulled_images_mb: whole(
    0,
    0,
    1_073_741_824,
    'Room for images that this server pulled; unused ones beyond it are removed, the longest unused first; 0 is no bound.',
  ),
  start_concurrency: whole(8, 1, 256, 'Containers started at once; further ones wait.'),
  start_timeout: duration('60s', 'How long the engine may take to create or to start one.'),
  max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes of this provider at most; 0 is no cap.'),
  max_memory_mb: whole(
    0,
    0,
    1_048_576,
    'The most memory a sandbox gets; a larger wish is cut to it and named in warnings; 0 is no cap.',
  ),
});
export type ContainerConfig = Static<typeof ContainerConfig>;
