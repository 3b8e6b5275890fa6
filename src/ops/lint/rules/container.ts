// Rules about containers, asked where they are enabled: what is given to them, and how the engine is reached.
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { usesTls } from '../../../providers/container/endpoint.ts';
import { isOpenPattern } from '../../../providers/container/image-policy.ts';
import { isGvisor } from '../../../providers/container/runtime-kernel.ts';
import type { Config } from '../../../schema/config.ts';
import { CONFIG_KEYS } from '../../../schema/config-keys.ts';
import { floatingTag, hostOf, isRefused } from '../container-names.ts';
import { entryFindings, findingIf, type LintRule, type RuleFinding } from '../rule.ts';

type Container = Config['providers']['container'];
type ContainerRule = Omit<LintRule, 'topic' | 'check'> & {
  check(container: Container, config: Config): readonly RuleFinding[];
};

const MOST_PROCESSES = 4096;

/** Each alone is a path to the machine or to other sandboxes. */
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

const RULES: readonly ContainerRule[] = [
  {
    id: 'SVC601',
    key: 'providers.container.network_mode',
    title: 'Containers share the network of this machine.',
    why: 'A sandbox can reach every service on loopback addresses, including this service, and can see the traffic of the host.',
    remedy: 'Set providers.container.network_mode to svc or none.',
    example: 'providers:\n  container:\n    network_mode: svc\n',
    level: 'warning',
    production: 'error',
    check: ({ network_mode }) => findingIf(network_mode === 'host'),
  },
  {
    id: 'SVC602',
    key: 'providers.container.added_caps',
    title: 'Containers have a capability that allows an escape.',
    why: 'With it, a program in a sandbox can load kernel code, or mount, trace or reconfigure parts of the host.',
    remedy: 'Remove the capability from providers.container.added_caps.',
    example: 'providers:\n  container:\n    dropped_caps: [ALL]\n    added_caps: [CHOWN, SETUID, SETGID]\n',
    level: 'warning',
    production: 'error',
    check: ({ added_caps }) =>
      entryFindings(
        added_caps,
        isPrivileged,
        (capability) => `Containers have ${capability}, which allows an escape.`,
      ),
  },
  {
    id: 'SVC603',
    key: 'providers.container.added_caps',
    title: 'Containers have a capability that is not a default.',
    why: `Installers and su need only ${DEFAULT_CAPS.join(', ')}. A sandbox can abuse every further capability.`,
    remedy: 'Remove the capability from providers.container.added_caps unless a program needs it.',
    example: 'providers:\n  container:\n    added_caps: [CHOWN, SETUID, SETGID]\n',
    level: 'off',
    production: 'warning',
    check: ({ added_caps }) =>
      entryFindings(
        added_caps,
        (capability) => !isPrivileged(capability) && !DEFAULT_CAPS.includes(plainName(capability)),
        (capability) => `Containers have ${capability}, which is not a default capability.`,
      ),
  },
  {
    id: 'SVC604',
    key: 'providers.container.dropped_caps',
    title: 'Containers keep the default capabilities of the engine.',
    why: "The engine's default set contains capabilities that sandboxes do not need, such as raw sockets and device nodes, and changes between versions.",
    remedy: 'Set providers.container.dropped_caps to [ALL], and add required capabilities with added_caps.',
    example: 'providers:\n  container:\n    dropped_caps: [ALL]\n',
    level: 'warning',
    production: 'error',
    check: ({ dropped_caps }) => findingIf(!dropped_caps.map(plainName).includes('ALL')),
  },
  {
    id: 'SVC605',
    key: 'providers.container.seccomp_profile',
    title: 'Containers can use every system call.',
    why: 'Most container escapes need a system call that the usual profiles block.',
    remedy: 'Set providers.container.seccomp_profile to svc, default or the path of your own profile.',
    example: 'providers:\n  container:\n    seccomp_profile: svc\n',
    level: 'warning',
    production: 'error',
    check: ({ seccomp_profile }) => findingIf(seccomp_profile === 'unconfined'),
  },
  {
    id: 'SVC606',
    key: 'providers.container.user',
    title: 'Programs in containers run as root.',
    why: 'Unless the engine maps users, root in a container is root on the host with fewer capabilities. One kernel bug or one file that is shared by mistake allows an escape. Most images run as root by default.',
    remedy:
      'Set providers.container.user to a uid and gid that no account of the host uses, such as 65534:65534.',
    example: 'providers:\n  container:\n    user: "65534:65534"\n',
    level: 'off',
    production: 'error',
    check: ({ user }) =>
      findingIf(
        isRoot(user),
        user === '' ? { message: 'The image selects the user, and most images select root.' } : {},
      ),
  },
  {
    id: 'SVC607',
    key: 'providers.container.read_only_rootfs',
    title: "The containers' root file system is writable.",
    why: 'Files that sandboxes write there use the disk of the engine without a limit. One sandbox can fill the disk for all.',
    remedy: 'Set providers.container.read_only_rootfs to true. /workspace and tmpfs stay writable in memory.',
    example: 'providers:\n  container:\n    read_only_rootfs: true\n',
    level: 'off',
    production: 'warning',
    check: ({ read_only_rootfs }) => findingIf(!read_only_rootfs),
  },
  {
    id: 'SVC608',
    key: 'providers.container.max_memory_mb',
    title: 'The memory of a container is not limited.',
    why: 'A spawn gets as much memory as it requests. One spawn can use the memory of the entire machine.',
    remedy: 'Set providers.container.max_memory_mb to the maximum memory of a container.',
    example: 'providers:\n  container:\n    max_memory_mb: 2048\n',
    level: 'off',
    production: 'error',
    check: ({ max_memory_mb }) => findingIf(max_memory_mb === 0),
  },
  {
    id: 'SVC609',
    key: 'providers.container.pids_limit',
    title: 'The limit for processes of a container is very high.',
    why: 'A fork bomb of that size slows down the entire machine.',
    remedy: `Set providers.container.pids_limit to at most ${MOST_PROCESSES}.`,
    example: 'providers:\n  container:\n    pids_limit: 256\n',
    level: 'off',
    production: 'error',
    check: ({ pids_limit }) => findingIf(pids_limit > MOST_PROCESSES),
  },
  {
    id: 'SVC610',
    key: 'defaults.image',
    title: 'The image has a tag that can change.',
    why: 'The same name can refer to a different image later. Sandboxes then change without a change of the configuration, and may differ from the tested image.',
    remedy: 'Use a version tag, or better a digest: image@sha256:…',
    example: 'defaults:\n  image: alpine:3.22\n',
    level: 'off',
    production: 'warning',
    check: (_, config) => {
      const [key, image] = defaultImage(config);
      const tag = floatingTag(image);
      return findingIf(tag !== undefined, {
        key,
        message: `The image has the tag ${tag}, which can change.`,
      });
    },
  },
  {
    id: 'SVC611',
    key: 'providers.container.host',
    title: 'The connection to the engine uses plain TCP.',
    why: 'Everyone who can reach that port is root on the host of the engine, and an attacker on the network path can read and change all calls.',
    remedy: 'Use the Unix socket, or mutual TLS with providers.container.tls.',
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
    why: 'An attacker who impersonates the engine gets all commands, images and secrets of sandboxes.',
    remedy:
      "Set providers.container.tls.verify to true, and set tls.ca_file to the certificate of the authority that signed the engine's certificate.",
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
    why: "Containers of one network can find each other's addresses and reach the previews of this service. Every sandbox that learns the name of a public preview can open it.",
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
    why: 'The gVisor kernel does not support limits that pools set for each user, such as the limit on message queues. The server does not start.',
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
    title: 'Sandboxes can use images of any registry.',
    why: 'The engine contacts every registry that a caller names, from its own network, and stores the pulled images. The service refuses addresses and internal names, but DNS can point other names to them.',
    remedy:
      'Set providers.container.allowed_images to the images or registry directories that sandboxes need.',
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
    title: 'The default image is not in providers.container.allowed_images.',
    why: 'The service refuses spawns without an image, or they get a different image than intended.',
    remedy: 'Add the image to providers.container.allowed_images, or use an allowed image.',
    example: 'defaults:\n  image: alpine:3.22\nproviders:\n  container:\n    allowed_images: [alpine]\n',
    level: 'warning',
    production: 'error',
    check: ({ allowed_images }, config) => {
      const [key, image] = defaultImage(config);
      return findingIf(isRefused(image, allowed_images), {
        key,
        message: `The image ${image} is not in providers.container.allowed_images.`,
      });
    },
  },
  {
    id: 'SVC617',
    key: 'providers.container.no_new_privileges',
    title: 'Programs in containers can get new privileges.',
    why: 'A set-user-id program of the image makes any user of the sandbox its root, and such programs and the kernel code that starts them often have faults.',
    remedy: 'Set providers.container.no_new_privileges to true unless programs need sudo.',
    example: 'providers:\n  container:\n    no_new_privileges: true\n',
    level: 'warning',
    production: 'error',
    check: ({ no_new_privileges }) => findingIf(!no_new_privileges),
  },
  {
    id: 'SVC618',
    key: 'providers.container.link',
    title: 'Containers on an engine of another machine have no link.',
    why: 'The engine does not see the folder in which this server listens. Every ten minutes it refuses a spawn for that, which the server then repeats without the link.',
    remedy: 'Set providers.container.link to attach, as it is in effect.',
    example:
      'providers:\n  container:\n    host: tcp://engine.internal:2376\n    link: attach\n    tls:\n      ca_file: /etc/svc/engine-ca.pem\n',
    level: 'off',
    production: 'warning',
    check: ({ host, link }) => findingIf(link === 'auto' && host !== '' && !isLoopbackHost(hostOf(host))),
  },
];

export const CONTAINER_RULES: readonly LintRule[] = RULES.map((rule) => ({
  ...rule,
  topic: 'container',
  check: ({ config }) =>
    config.providers.container.enabled ? rule.check(config.providers.container, config) : [],
}));
