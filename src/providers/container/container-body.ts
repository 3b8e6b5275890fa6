// The request body that creates a container. Pure; its output is fixed by fixtures/golden/container-*.json.
import { TRUST_FOLDER } from '../../domain/egress/trust.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import type { RuntimeSpec } from '../provider.ts';
import { LINK_FOLDER, SOCKET } from './links.ts';
import { LABEL } from './names.ts';
import { hostProcesses } from './runtime-kernel.ts';

const MEBIBYTE = 1024 * 1024;
const SHM_MB = 64;
/** A limit that an engine without CAP_SYS_RESOURCE can set. */
const OPEN_FILES = 16_384;
/** The first process of a pool creates workspaces and switches to their users. */
const POOL_CAPS = ['CHOWN', 'SETGID', 'SETUID'];

/** One name for all: newer engines let every container of a network resolve it. */
const HOST_NAME = 'sandbox';

export const AGENT_FOLDER = '/.svc';
export const WORKSPACE = '/workspace';
const POOL_WORKSPACES = '/workspaces';
const POOL_PIDS = 4096;

export interface ContainerOptions {
  instance: string;
  spec: RuntimeSpec;
  config: ContainerConfig;
  /** The configured runtime, or the engine's default. */
  runtime: string;
  /** Id of the image that was looked up: a name may point to another image later. */
  image: string;
  /** Paths of the image's volumes. */
  volumes: readonly string[];
  /** The configured user, or the image's. */
  user: string;
  agentVolume: string;
  /** Name of a network, `none` or `host`. */
  network: string;
  /** Folder of the engine's host that the agent finds the server's socket in. */
  link?: string | undefined;
  /** Text of a profile, or a keyword of the engine; undefined for the engine's own profile. */
  seccomp?: string | undefined;
}

/** The body of `POST /containers/create`. */
export function containerBody(order: ContainerOptions): object {
  const { spec, image } = order;
  const isPool = spec.role === 'pool';
  return {
    Image: image,
    Hostname: HOST_NAME,
    User: isPool ? '0:0' : order.user,
    // The agent creates the working directory, because not every engine does.
    WorkingDir: '/',
    Entrypoint: [
      `${AGENT_FOLDER}/svc-agent`,
      'serve',
      ...(order.link === undefined ? [] : ['--dial', `${LINK_FOLDER}/${SOCKET}`]),
      '--settings-fd',
      '0',
      '--workdir',
      isPool ? POOL_WORKSPACES : WORKSPACE,
    ],
    Cmd: [],
    Env: hasOwnWorkspace(order) ? [`HOME=${WORKSPACE}`] : [],
    Labels: labels(order),
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: true,
    // True would close standard input for ever when the first connection ends.
    StdinOnce: false,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    HostConfig: hostConfig(order, isPool),
  };
}

/** Whether `/workspace` is a tmpfs of the sandbox's user: that user could not create or fill the folder otherwise. */
export function hasOwnWorkspace({
  spec,
  config,
  user,
}: Pick<ContainerOptions, 'spec' | 'config' | 'user'>): boolean {
  return spec.role !== 'pool' && (config.read_only_rootfs || !isRoot(user));
}

function isRoot(user: string): boolean {
  return /^(0|root)?(:|$)/.test(user);
}

function labels({ instance, spec }: ContainerOptions): Record<string, string> {
  return {
    [LABEL.instance]: instance,
    [LABEL.id]: spec.id,
    [LABEL.epoch]: `${spec.epoch}`,
    [LABEL.expires_at]: spec.expires_at,
    ...(spec.role && { [LABEL.role]: spec.role }),
  };
}

function hostConfig(order: ContainerOptions, isPool: boolean): object {
  const { spec, config } = order;
  const memory = spec.memory_mb * MEBIBYTE;
  return {
    ...(config.runtime && { Runtime: config.runtime }),
    NetworkMode: order.network,
    Privileged: false,
    CapDrop: isPool ? ['ALL'] : config.dropped_caps,
    CapAdd: isPool ? POOL_CAPS : config.added_caps,
    SecurityOpt: [
      ...(isPool || config.no_new_privileges ? ['no-new-privileges'] : []),
      ...(order.seccomp === undefined ? [] : [`seccomp=${order.seccomp}`]),
    ],
    PidsLimit: hostProcesses(order.runtime, isPool ? POOL_PIDS : config.pids_limit),
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(spec.vcpus * 1e9),
    Ulimits: [
      { Name: 'nofile', Soft: OPEN_FILES, Hard: OPEN_FILES },
      { Name: 'core', Soft: 0, Hard: 0 },
    ],
    ShmSize: Math.min(SHM_MB * MEBIBYTE, memory / 4),
    ReadonlyRootfs: isPool || config.read_only_rootfs,
    Tmpfs: {
      ...volumeTmpfs(order, isPool),
      ...(isPool ? poolTmpfs(spec.memory_mb) : tmpfs(order)),
      ...(spec.trust !== undefined && { [TRUST_FOLDER]: TRUST }),
    },
    Mounts: [
      {
        Type: 'volume',
        Source: order.agentVolume,
        Target: AGENT_FOLDER,
        ReadOnly: true,
        VolumeOptions: { NoCopy: true },
      },
      ...(order.link === undefined ? [] : [linkMount(order.link)]),
    ],
    Binds: [],
    Devices: [],
    // Tenants of a pool share no writable memory: `none` is private and has no /dev/shm.
    IpcMode: isPool ? 'none' : 'private',
    LogConfig: { Type: 'none' },
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    Init: false,
  };
}

/** A mount of the API, unlike a bind, is refused where the folder is missing, instead of making it there. */
function linkMount(folder: string): object {
  const BindOptions = { Propagation: 'rprivate' };
  return { Type: 'bind', Source: folder, Target: LINK_FOLDER, ReadOnly: true, BindOptions };
}

/** Paths and mount options. `exec` is explicit because engines default to noexec. */
function tmpfs(order: ContainerOptions): Record<string, string> {
  const { spec, config, user } = order;
  if (!hasOwnWorkspace(order)) return {};
  const shared = config.read_only_rootfs ? config.tmpfs : [];
  return {
    ...Object.fromEntries(shared.map((path) => [path, scratch(spec)])),
    [WORKSPACE]: options(config.workspace_mb, owner(user)),
  };
}

/** A tmpfs on each volume keeps the engine from creating its own; it is read-only where the root is. */
function volumeTmpfs(order: ContainerOptions, isPool: boolean): Record<string, string> {
  const { spec, config, volumes } = order;
  const nothing = isPool || config.read_only_rootfs;
  return Object.fromEntries(volumes.map((path) => [path, nothing ? NOTHING : scratch(spec)]));
}

/** Half of the memory for workspaces, whose folder tenants cannot list; message queues are disabled. */
function poolTmpfs(memoryMb: number): Record<string, string> {
  return {
    [POOL_WORKSPACES]: options(Math.max(1, Math.floor(memoryMb / 2)), 'mode=0711'),
    '/dev/mqueue': NOTHING,
  };
}

/** The agent, whose user may be any, fills it. */
const TRUST = 'rw,noexec,nosuid,nodev,size=4m,nr_inodes=16,mode=1777';
const NOTHING = 'ro,noexec,nosuid,nodev,size=4k,mode=0555';
/** A quarter of the memory, writable for every user. */
const scratch = ({ memory_mb }: RuntimeSpec) => options(Math.max(1, Math.floor(memory_mb / 4)), 'mode=1777');
/** Inodes take kernel memory as well: one for each page. */
const options = (mb: number, who: string) => {
  const files = Math.max(1024, mb * 256);
  return `rw,exec,nosuid,nodev,size=${mb}m,nr_inodes=${files},${who}`;
};

/** A user name has no number outside of its image: the folder is then writable for all, and only that user is inside. */
function owner(user: string): string {
  if (isRoot(user)) return 'uid=0,gid=0,mode=0755';
  const [, uid, gid] = /^(\d+)(?::(\d+))?$/.exec(user) ?? [];
  return uid === undefined ? 'mode=1777' : `uid=${uid},gid=${gid ?? 0},mode=0755`;
}
