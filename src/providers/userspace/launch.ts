// Starts one blueprint by the launcher. The secret travels on its standard input: arguments and environments of a
// process can be read by others.
import type { GateOrder } from '../../agent/gate-io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { MAX_PROCESSES } from '../local/cgroup-plan.ts';
import { runFolder, stageFolder } from '../local/instance-folders.ts';
import { encodeSettings, environmentSettings, ringSetting, type Setting } from '../local/settings.ts';
import { POOL_UIDS, UID_BASE } from '../local/uid-slots.ts';
import { bwrapArguments } from './bwrap.ts';
import { STANDARD_USER } from './image-user.ts';
import type { Runner } from './order.ts';
import type { Blueprint, StagedTree } from './plan.ts';
import { MARKER_VARIABLE, processMarker } from './process-marker.ts';
import { prootArguments, prootSettings } from './proot.ts';
import type { RecordDraft } from './record.ts';
import type { UserspaceState } from './state.ts';
import { rootSettings, unshareArguments } from './unshare.ts';
import { networkSettings } from './user-network.ts';

const MEBIBYTE = 1024 * 1024;

/** A drawing with its runner and secret. */
export interface LaunchOrder {
  runner: Runner;
  blueprint: Blueprint;
  record: RecordDraft;
  secret: Buffer;
  memory_mb: number;
  /** The time after which the sandbox ends by itself, in ms. */
  lifeMs?: number | undefined;
  /** See Drawing. */
  staged: Record<string, string>;
  stagedTree?: StagedTree | undefined;
}

/** Resolves with the warnings when the sandbox is locked down and recorded. Throws `provider_error` with the reason. */
export async function launch(
  state: UserspaceState,
  order: LaunchOrder,
  signal: AbortSignal,
): Promise<string[]> {
  const { ok, text } = await state.launcher.launch(encodeSettings(launchSettings(state, order)), signal);
  if (ok) return text.split('\n').filter((line) => line !== '');
  throw new ServiceError('provider_error', 'Could not start the sandbox.', {
    cause: new Error(text),
    remedy: 'Run svc provider get userspace to see what this host lacks.',
  });
}

/** All settings of launch and init, in order. Exported for its test. */
export function launchSettings(state: UserspaceState, order: LaunchOrder): Setting[] {
  const { blueprint, record, secret, runner } = order;
  const words = wordsOf(state, runner, blueprint);
  const workdir = blueprint.isPool ? '/' : '/workspace';
  const { name: user, home } = blueprint.user ?? STANDARD_USER;
  return [
    ['secret', secret.toString('hex')],
    ['run_dir', runFolder(state.folders, blueprint.name)],
    ['record', JSON.stringify(record)],
    ...identity(order),
    ['stage_dir', stageFolder(state.folders)],
    ...Object.entries(order.staged).map(([name, source]): Setting => ['stage', `${name}=${source}`]),
    ...treeSettings(order.stagedTree),
    ...(blueprint.terminals ? [['terminals', blueprint.terminals] as Setting] : []),
    ...cgroupSettings(blueprint),
    ['runner', runner.path],
    ...words.args.map((arg): Setting => ['arg', arg]),
    ...words.settings,
    ...(blueprint.gate ? [['gate', blueprint.gate.maker] as Setting] : []),
    ...(blueprint.listens ? portSettings(blueprint.listens) : []),
    ...(blueprint.userNetwork ? networkSettings(blueprint.userNetwork) : []),
    ...limits(order, state.config.max_disk_mb),
    ...(order.lifeMs === undefined ? [] : [['life_ms', `${order.lifeMs}`] as Setting]),
    // Users of a pool get their own folder with each command.
    ['workdir', workdir],
    ...environmentSettings(user, blueprint.isPool ? workdir : home, blueprint.env),
  ];
}

const portSettings = ({ proxy_port, ports = [] }: GateOrder): Setting[] => [
  ['proxy_port', `${proxy_port}`],
  ...ports.map((port): Setting => ['gate_port', `${port}`]),
];

function treeSettings(tree: StagedTree | undefined): Setting[] {
  if (!tree) return [];
  return [
    ['stage_tree', `${tree.name}=${tree.source}`],
    ['tree_uid', `${tree.uid}`],
  ];
}

/** The runner's arguments, and the settings for init. */
function wordsOf(
  state: UserspaceState,
  { name }: Runner,
  blueprint: Blueprint,
): { args: string[]; settings: Setting[] } {
  if (name === 'bwrap') return { args: bwrapArguments(blueprint), settings: [['built', '1']] };
  if (name === 'unshare') return { args: unshareArguments(blueprint), settings: rootSettings(blueprint) };
  const mark = `${MARKER_VARIABLE}=${processMarker(state, blueprint.name)}`;
  return { args: prootArguments(blueprint), settings: prootSettings(blueprint, mark) };
}

function identity({ record, blueprint }: LaunchOrder): Setting[] {
  if (record.uid_slot === undefined) return [];
  const uid = `${UID_BASE + record.uid_slot}`;
  if (blueprint.isPool)
    return [
      ['pool_uid', uid],
      ['pool_uids', `${POOL_UIDS}`],
      ...(blueprint.workspace ? [] : [['workspaces', `${blueprint.sizes.workspace}`] as Setting]),
    ];
  return [
    ['uid', uid],
    ['gid', uid],
  ];
}

function cgroupSettings({ cgroups }: Blueprint): Setting[] {
  return [
    ...cgroups.folders.map((folder): Setting => ['cgroup', folder]),
    ...cgroups.limits.map(
      ({ path, value, needed }): Setting => [needed ? 'limit' : 'limit_try', `${value}=${path}`],
    ),
  ];
}

/** Limits of single processes, for resources without a cgroup. The address space is not limited: that breaks Node, Java and Go. */
function limits({ blueprint, memory_mb }: LaunchOrder, maxDiskMb: number): Setting[] {
  const { bounds } = blueprint.cgroups;
  return [
    ringSetting(memory_mb),
    ...(bounds.has('memory') ? [] : [['limit_data', `${memory_mb * MEBIBYTE}`] as Setting]),
    ...(bounds.has('pids') || blueprint.isPool ? [] : [['limit_processes', `${MAX_PROCESSES}`] as Setting]),
    ...(blueprint.workspace ? [['limit_file', `${maxDiskMb * MEBIBYTE}`] as Setting] : []),
  ];
}
