// Rules about containers, asked where they are enabled: what is given to them, and how the engine is reached.
import { usesTls } from '../../../providers/container/endpoint.ts';
import { imagePolicy, isOpenPattern } from '../../../providers/container/image-policy.ts';
import { isGvisor } from '../../../providers/container/runtime-kernel.ts';
import type { Config } from '../../../schema/config.ts';
import { CONFIG_KEYS } from '../../../schema/config-keys.ts';
import { entryFindings, findingIf, type LintRule, type RuleFinding } from '../rule.ts';

type Container = Config['providers']['container'];
type ContainerRule = Omit<LintRule, 'topic' | 'check'> & {
  check(container: Container, config: Config): readonly RuleFinding[];
};

const MOST_PROCESSES = 4096;

/** Each is a way to the machine or to other sandboxes by itself. */
const PRIVILEGED = new Set(
  'ALL AUDIT_CONTROL BPF CHECKPOINT_RESTORE DAC_READ_SEARCH IPC_OWNER LINUX_IMMUTABLE MAC_ADMIN MAC_OVERRIDE MKNOD NET_ADMIN NET_BROADCAST PERFMON SETFCAP SYSLOG SYS_ADMIN SYS_BOOT SYS_MODULE SYS_NICE SYS_PACCT SYS_PTRACE SYS_RAWIO SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG WAKE_ALARM'.split(
    ' ',
  ),
);
const DEFAULT_CAPS = CONFIG_KEYS.find(({ path }) => path === 'providers.container.added_caps')
  ?.default as string[];

const plainName = (capability: string) => capability.replace(/^CAP_/, '');
const isPrivileged = (capability: string) => PRIVILEGED.has(plainName(capability));
const isRoot = (user: string) => /^(?:root|0+)?(?::|$)/.test(user);

/** The key that names the image which containers get when nobody asks for one. */
const defaultImage = ({ defaults, pool }: Config): [key: string, image: string] =>
  pool.enabled ? ['pool.image', pool.image] : ['defaults.image', defaults.image];

function isRefused(image: string, allowed: readonly string[]): boolean {
  try {
    imagePolicy(allowed)(image);
    return false;
  } catch {
    return true;
  }
}

/** The tag that says nothing about what is in it, or undefined. */
function floatingTag(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  const tag = /:([^/:]+)$/.exec(image)?.[1] ?? 'latest';
  return /^(?:latest|stable|edge|main|master|nightly|dev|current|lts|rolling|testing|unstable)$/i.test(tag)
    ? tag
    : undefined;
}

const RULES: readonly ContainerRule[] = [
  {
    id: 'SVC601',
    key: 'providers.container.network_mode',
    title: 'Containers share the network of this machine.',
    why: 'A sandbox then reaches every service on loopback, this one included, and sees the traffic of the host.',
    remedy: 'Set providers.container.network_mode to svc or none.',
    example: 'providers:\n  container:\n    network_mode: svc\n',
    level: 'warning',
    production: 'error',
    check: ({ network_mode }) => findingIf(network_mode === 'host'),
  },
  {
    id: 'SVC602',
    key: 'providers.container.added_caps',
    title: 'Containers get a capability that leads out of them.',
    why: 'With it a program in a sandbox can load code into the kernel, mount, trace or reconfigure what is not its own.',
    remedy: 'Take it out of providers.container.added_caps.',
    example: 'providers:\n  container:\n    dropped_caps: [ALL]\n    added_caps: [CHOWN, SETUID, SETGID]\n',
    level: 'warning',
    production: 'error',
    check: ({ added_caps }) =>
      entryFindings(
        added_caps,
        isPrivileged,
        (capability) => `Containers get ${capability}, which leads out of them.`,
      ),
  },
  {
    id: 'SVC603',
    key: 'providers.container.added_caps',
    title: 'Containers get a capability beyond the default ones.',
    why: `Installers and su need no more than ${DEFAULT_CAPS.join(', ')}; each further one is something that a sandbox can abuse.`,
    remedy: 'Take it out of providers.container.added_caps unless you know what needs it.',
    example: 'providers:\n  container:\n    added_caps: [CHOWN, SETUID, SETGID]\n',
    level: 'off',
    production: 'warning',
    check: ({ added_caps }) =>
      entryFindings(
        added_caps,
        (capability) => !isPrivileged(capability) && !DEFAULT_CAPS.includes(plainName(capability)),
        (capability) => `Containers get ${capability} beyond the default capabilities.`,
      ),
  },
  {
    id: 'SVC604',
    key: 'providers.container.dropped_caps',
    title: 'Containers keep the capabilities that the engine gives.',
    why: "The engine's own set holds what no sandbox needs, such as raw sockets and device nodes, and it changes with its version.",
    remedy: 'Set providers.container.dropped_caps to [ALL], and give back what is needed by added_caps.',
    example: 'providers:\n  container:\n    dropped_caps: [ALL]\n',
    level: 'warning',
    production: 'error',
    check: ({ dropped_caps }) => findingIf(!dropped_caps.map(plainName).includes('ALL')),
  },
  {
    id: 'SVC605',
    key: 'providers.container.seccomp_profile',
    title: 'Containers may make every system call.',
    why: 'Most ways out of a container begin with a system call that the usual profiles refuse.',
    remedy: 'Set providers.container.seccomp_profile to svc or default, or to a profile of your own.',
    example: 'providers:\n  container:\n    seccomp_profile: svc\n',
    level: 'warning',
    production: 'error',
    check: ({ seccomp_profile }) => findingIf(seccomp_profile === 'unconfined'),
  },
  {
    id: 'SVC606',
    key: 'providers.container.user',
    title: 'Programs in containers run as root.',
    why: 'Unless the engine maps users, root of a container is root of the host less its capabilities: one fault of the kernel or a file shared by mistake is enough. Most images run as root when nobody says otherwise.',
    remedy: 'Set providers.container.user to a number that is nobody on the host, such as 65534:65534.',
    example: 'providers:\n  container:\n    user: "65534:65534"\n',
    level: 'off',
    production: 'error',
    check: ({ user }) =>
      findingIf(
        isRoot(user),
        user === '' ? { message: 'The image chooses the user, and most choose root.' } : {},
      ),
  },
  {
    id: 'SVC607',
    key: 'providers.container.read_only_rootfs',
    title: "The containers' root file system is writable.",
    why: 'What sandboxes write there lies on the disk of the engine, without a bound: one of them can fill it for all.',
    remedy:
      'Set providers.container.read_only_rootfs to true; /workspace and tmpfs stay writable, in memory.',
    example: 'providers:\n  container:\n    read_only_rootfs: true\n',
    level: 'off',
    production: 'warning',
    check: ({ read_only_rootfs }) => findingIf(!read_only_rootfs),
  },
  {
    id: 'SVC608',
    key: 'providers.container.max_memory_mb',
    title: 'The memory of a container has no cap.',
    why: 'A spawn gets whatever memory it asks for; one that asks for all of it takes the machine.',
    remedy: 'Set providers.container.max_memory_mb.',
    example: 'providers:\n  container:\n    max_memory_mb: 2048\n',
    level: 'off',
    production: 'error',
    check: ({ max_memory_mb }) => findingIf(max_memory_mb === 0),
  },
  {
    id: 'SVC609',
    key: 'providers.container.pids_limit',
    title: 'A container may have very many processes.',
    why: 'A fork bomb of that size is felt by the whole machine.',
    remedy: `Set providers.container.pids_limit to at most ${MOST_PROCESSES}.`,
    example: 'providers:\n  container:\n    pids_limit: 256\n',
    level: 'off',
    production: 'error',
    check: ({ pids_limit }) => findingIf(pids_limit > MOST_PROCESSES),
  },
  {
    id: 'SVC610',
    key: 'defaults.image',
    title: 'The image is named by a tag that moves.',
    why: 'The same name is another image tomorrow: sandboxes change without anybody changing anything, and what was tested is not what runs.',
    remedy: 'Name a version, or better a digest: image@sha256:…',
    example: 'defaults:\n  image: alpine:3.22\n',
    level: 'off',
    production: 'warning',
    check: (_, config) => {
      const [key, image] = defaultImage(config);
      const tag = floatingTag(image);
      return findingIf(tag !== undefined, {
        key,
        message: `The image is named by the tag ${tag}, which moves.`,
      });
    },
  },
  {
    id: 'SVC611',
    key: 'providers.container.host',
    title: 'The engine is reached over plain TCP.',
    why: 'Whoever reaches that port is root on the host of the engine, and whoever is on the way sees and changes all calls.',
    remedy: 'Use the Unix socket, or TLS on both sides by providers.container.tls.',
    example:
      'providers:\n  container:\n    host: tcp://engine.internal:2376\n    tls:\n      ca_file: /etc/svc/engine-ca.pem\n      cert_file: /etc/svc/engine.pem\n      key_file: /etc/svc/engine-key.pem\n',
    level: 'warning',
    production: 'error',
    check: (container) => findingIf(container.host !== '' && !usesTls(container)),
  },
  {
    id: 'SVC612',
    key: 'providers.container.tls.verify',
    title: 'Any certificate of the engine is accepted.',
    why: 'Whoever answers in its place gets all commands, images and secrets of sandboxes.',
    remedy:
      'Set providers.container.tls.verify to true, and tls.ca_file to the authority that signed the certificate.',
    example:
      'providers:\n  container:\n    tls:\n      ca_file: /etc/svc/engine-ca.pem\n      verify: true\n',
    level: 'warning',
    production: 'error',
    check: ({ tls }) => findingIf(!tls.verify),
  },
  {
    id: 'SVC613',
    key: 'server.preview_access',
    title: 'Public previews are open to containers that share a network.',
    why: "Containers of one network find each other's addresses, and reach the previews of this service. A public preview is open to every sandbox that learns its name.",
    remedy: 'Set server.preview_access to signed, or providers.container.network_mode to none.',
    example: 'server:\n  preview_domain: sandboxes.example.com\n  preview_access: signed\n',
    level: 'warning',
    production: 'warning',
    check: ({ network_mode }, { server }) =>
      findingIf(
        network_mode !== 'none' && server.preview_domain !== '' && server.preview_access === 'public',
      ),
  },
  {
    id: 'SVC614',
    key: 'providers.container.runtime',
    title: 'A pool cannot run under gVisor.',
    why: 'The kernel of gVisor refuses limits that each user of a pool gets, such as that on message queues. The server does not start.',
    remedy: 'Set providers.container.runtime to runc, or pool.enabled to false.',
    example: 'pool:\n  enabled: true\nproviders:\n  default: container\n  container:\n    runtime: runc\n',
    level: 'error',
    production: 'error',
    check: ({ runtime }, { pool, providers }) =>
      findingIf(pool.enabled && providers.default === 'container' && isGvisor(runtime)),
  },
  {
    id: 'SVC615',
    key: 'providers.container.allowed_images',
    title: 'Sandboxes may have images of any registry.',
    why: 'The engine contacts, from its own network, whatever registry a caller names, and keeps what it pulls. Addresses and internal names are refused, but any other name can be made to lead there.',
    remedy:
      'List the images or folders of registries that sandboxes need in providers.container.allowed_images.',
    example: 'providers:\n  container:\n    allowed_images: [alpine, registry.example/team/**]\n',
    level: 'off',
    production: 'error',
    check: ({ allowed_images, pull }) =>
      pull === 'never'
        ? []
        : entryFindings(
            allowed_images,
            isOpenPattern,
            (pattern) => `The pattern ${pattern} allows images of any registry, or all of one.`,
          ),
  },
  {
    id: 'SVC616',
    key: 'defaults.image',
    title: 'The default image is not one that sandboxes may have.',
    why: 'A spawn that names no image is refused, or gets another image than was meant.',
    remedy: 'Add it to providers.container.allowed_images, or name one that is there.',
    example: 'defaults:\n  image: alpine:3.22\nproviders:\n  container:\n    allowed_images: [alpine]\n',
    level: 'warning',
    production: 'error',
    check: ({ allowed_images }, config) => {
      const [key, image] = defaultImage(config);
      return findingIf(isRefused(image, allowed_images), {
        key,
        message: `The image ${image} is not within providers.container.allowed_images.`,
      });
    },
  },
];

export const CONTAINER_RULES: readonly LintRule[] = RULES.map((rule) => ({
  ...rule,
  topic: 'container',
  check: ({ config }) =>
    config.providers.container.enabled ? rule.check(config.providers.container, config) : [],
}));
