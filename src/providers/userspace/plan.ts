// Plans a sandbox: cuts the request to what this host gives, and names each cut in a warning.
import { join } from 'node:path';
import type { GateOrder } from '../../agent/gate-io.ts';
import { STORE_UID } from '../../images/store-paths.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import {
  type CgroupPlan,
  cgroupName,
  MAX_PROCESSES,
  POOL_PROCESSES,
  planCgroups,
} from '../local/cgroup-plan.ts';
import { imageEnvironment } from '../local/image-environment.ts';
import { runtimeName, stageFolder } from '../local/instance-folders.ts';
import type { RuntimeSpec } from '../provider.ts';
import { differences } from './differences.ts';
import { resolverPath } from './etc.ts';
import type { SandboxUser } from './image-user.ts';
import { keptFile } from './kept-file.ts';
import { memoryFor } from './limits.ts';
import type { PlannedOrder, Runner } from './order.ts';
import { addedResolver, hostResolver, type ResolverWish, resolverCovers } from './resolver.ts';
import { type Bind, movedView, type RootfsView } from './rootfs-view.ts';
import { stagedView } from './staged-view.ts';
import type { UserspaceState } from './state.ts';
import { trustCovers } from './trust.ts';
import { findUserNetwork, resolverText, type UserNetwork } from './user-network.ts';

export interface Blueprint {
  /** runtime_id. */
  name: string;
  id: string;
  view: RootfsView;
  network: UserspaceConfig['network'];
  /** Present if `network` is user. */
  userNetwork?: UserNetwork;
  /** Path of svc-agent and of the workspace on disk as the runner can reach them. */
  agent: string;
  workspace?: string;
  /** The VM of a pool (src/agent/user.ts): only /workspaces is writable. */
  isPool?: true;
  /** Mount of its bounded terminals, for a runner that can bound none itself. */
  terminals?: string;
  /** Who makes its transparent gate, and the file that names its resolver. */
  gate?: { maker: 'init' | 'launcher'; resolver: string };
  /** Ports by which its programs connect. */
  listens?: GateOrder;
  /** Host files that are shown over its own, last. */
  covers: Bind[];
  /** Host file for which init makes an /etc/resolv.conf. */
  resolver?: string;
  /** Environment of the image's own, for every command. */
  env: Record<string, string>;
  /** Who commands are; the standard user without. */
  user?: SandboxUser;
  /** The view's image is a tree of the store. */
  isTree?: true;
  sizes: Sizes;
  cgroups: CgroupPlan;
}

/** Bytes. */
interface Sizes {
  workspace: number;
  tmp: number;
  shm: number;
  /** For private changes to an image. */
  root: number;
}

const MEBIBYTE = 1024 * 1024;
const TREE = 'tree';

/** The resources claimed on the host for this runtime. */
export interface Claims {
  slot: number | undefined;
  workspace: string | undefined;
}

export interface StagedTree {
  /** Name in the stage folder. */
  name: string;
  source: string;
  uid: number;
}

export interface SandboxPlan {
  blueprint: Blueprint;
  /** Name in the stage folder → host path, for a sandbox with a uid of its own: see launch-child.c. */
  staged: Record<string, string>;
  /** The same for the tree of an image, and the uid that owns its files. */
  stagedTree?: StagedTree;
  slot: number | undefined;
  image: string;
  memory_mb: number;
  warnings: string[];
}

export async function planSandbox(
  state: UserspaceState,
  order: PlannedOrder,
  claims: Claims,
): Promise<SandboxPlan> {
  const { runner, spec, image } = order;
  const { agent, cgroups } = await state.prepare();
  const name = runtimeName(spec);
  const wish = await resolverWish(state, order);
  const { view, network, userNetwork } = wish;
  const memory_mb = memoryFor(state.config, spec);
  const sources = { 'svc-agent': agent, ...(claims.workspace ? { workspace: claims.workspace } : {}) };
  const isStaged = claims.slot !== undefined;
  const reach = (part: string, path: string) => (isStaged ? join(stageFolder(state.folders), part) : path);
  const resolver = addedResolver(wish);
  const seen = image.stored ? movedView(view, reach(TREE, view.overlay ?? '')) : view;
  const parts =
    isStaged && runner.name === 'bwrap'
      ? stagedView(seen, stageFolder(state.folders))
      : { view: seen, staged: {} };
  const blueprint: Blueprint = {
    name,
    id: spec.id,
    view: parts.view,
    env: imageEnvironment(image).env,
    user: order.user,
    ...(image.stored && { isTree: true as const }),
    network,
    ...(userNetwork && { userNetwork }),
    ...(spec.gate && { gate: { maker: gateMaker(runner), resolver: resolverPath(state.folders) } }),
    ...(spec.listens && { listens: spec.listens }),
    covers: await coversOf(state, spec, wish),
    ...(resolver !== undefined && { resolver }),
    agent: reach('svc-agent', agent),
    ...(claims.workspace ? { workspace: reach('workspace', claims.workspace) } : {}),
    ...(spec.role === 'pool' && { isPool: true as const }),
    ...(isStaged && runner.name === 'bwrap' ? { terminals: reach('pts', '') } : {}),
    sizes: sizesFor(memory_mb, state.config),
    cgroups: planCgroups(cgroups, cgroupName(state, name), {
      memory_mb,
      vcpus: spec.vcpus,
      processes: spec.role === 'pool' ? POOL_PROCESSES : MAX_PROCESSES,
    }),
  };
  return {
    blueprint,
    staged: isStaged ? { ...sources, ...parts.staged } : {},
    ...(isStaged && view.overlay !== undefined && image.stored
      ? { stagedTree: { name: TREE, source: view.overlay, uid: STORE_UID } }
      : {}),
    slot: claims.slot,
    image: image.name,
    memory_mb,
    // A property of the configuration, not a difference from the request: a strict spawn has no other user to ask for.
    warnings: [
      ...differences(state.config, order, { bounds: cgroups.folders, resolver: wish }),
      ...(order.user.uid === 0 && !spec.strict ? [IGNORED_OWNERS] : []),
    ],
  };
}

async function coversOf(state: UserspaceState, { trust }: RuntimeSpec, wish: ResolverWish): Promise<Bind[]> {
  const resolver = resolverCovers(wish);
  return trust === undefined
    ? resolver
    : [...resolver, ...(await state.slowly(() => trustCovers(state, wish.view, trust)))];
}

/** What of the order decides about its resolver. */
export async function resolverWish(
  state: UserspaceState,
  { runner, spec, image }: PlannedOrder,
): Promise<ResolverWish> {
  const network = runner.name === 'proot' ? 'host' : networkOf(state, spec);
  const view = await state.view(image.rootfs, network);
  if (network === 'none') return { runner, spec, network, view };
  if (network === 'host') return { runner, spec, network, view, source: await hostResolver() };
  const userNetwork = await findUserNetwork(state);
  const source = await keptFile(state, 'resolv.conf', resolverText(userNetwork));
  return { runner, spec, network, view, source, userNetwork };
}

/** bubblewrap leaves init no right over the network that it makes. */
const gateMaker = ({ name }: Runner) => (name === 'bwrap' ? 'launcher' : 'init');

const IGNORED_OWNERS =
  'Commands run as root of the image: calls that change owners and users report success and change nothing.';

function networkOf({ config }: UserspaceState, spec: RuntimeSpec): UserspaceConfig['network'] {
  return spec.network === 'default' && !spec.gate ? config.network : 'none';
}

/** Half of the memory for /workspace, a quarter for /tmp and for /dev/shm each; none above max_disk_mb. */
export function sizesFor(memoryMb: number, config: Pick<UserspaceConfig, 'max_disk_mb'>): Sizes {
  const share = (part: number) =>
    Math.max(1, Math.min(config.max_disk_mb, Math.floor(memoryMb / part))) * MEBIBYTE;
  return { workspace: share(2), tmp: share(4), shm: share(4), root: share(4) };
}
