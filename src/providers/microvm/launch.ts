// A guest's record, files and monitor: the common part of booting, restoring and saving a guest.
import { mkdir, writeFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Detached } from '../../host/host.ts';
import { cgroupName } from '../local/cgroup-plan.ts';
import { newRecord } from '../local/runtimes.ts';
import { claimSlot, UID_BASE } from '../local/uid-slots.ts';
import type { RuntimeSpec } from '../provider.ts';
import { joining, makeCgroups, monitorCgroups } from './cgroup.ts';
import { startOf } from './destroy.ts';
import type { RuntimePaths } from './folders.ts';
import type { Machinery } from './machinery.ts';
import type { MonitorMemory, MonitorPlan } from './monitor-kind.ts';
import { unwritable, writeRecord } from './record.ts';
import type { Shape } from './shape.ts';
import type { MicrovmState } from './state.ts';

export interface Making {
  spec: RuntimeSpec;
  name: string;
  paths: RuntimePaths;
  shape: Shape;
  image: { name: string; path: string };
  /** The environment that the image brings. */
  env: Record<string, string>;
  machinery: Machinery;
}

/** How this guest starts. */
interface GuestInputs {
  /** The settings of its agent. */
  settings: Buffer;
  memory: MonitorMemory;
  /** Writes the overlay disk to a path; not called without one. */
  overlay(path: string): Promise<void>;
  /** Descriptor of a state to restore instead of booting; the monitor gets it as its descriptor 0. */
  state?: number;
}

export interface Launched {
  process: Detached;
  plan: MonitorPlan;
}

/** Throws `conflict` when the folder is there: this attempt at the sandbox exists already. */
export async function claimFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST')
      throw new ServiceError('conflict', 'This sandbox already has a runtime.', { cause });
    throw unwritable(cause);
  });
}

/** Starts and records a monitor. When this throws, `clear` removes the remains in the run folder. */
export async function launch(
  state: MicrovmState,
  making: Making,
  inputs: GuestInputs,
  signal: AbortSignal,
): Promise<Launched> {
  const { paths, machinery } = making;
  const slot = state.host.uid === 0 ? await claimSlot(state.folders, making.name, state.random) : undefined;
  const plan = planOf(state, making, { slot, inputs });
  const host = await state.cgroups();
  const cgroups = monitorCgroups(host, plan);
  const record = {
    ...newRecord(state, making.spec, { image: making.image.name, slot }),
    cgroups: cgroups.folders,
  };
  await writeRecord(paths.folder, record);
  await writeInputs(state, making, inputs);
  await makeCgroups(cgroups);
  signal.throwIfAborted();
  const command = joining(host, cgroups, [machinery.monitor.path, state.monitor.arguments(plan)]);
  const process = await state.host.detach(...command, inputs.state);
  const pid_start = await startOf(process.pid);
  if (pid_start !== undefined) await writeRecord(paths.folder, { ...record, pid: process.pid, pid_start });
  return { process, plan };
}

async function writeInputs(
  { config, monitor }: MicrovmState,
  { paths }: Making,
  inputs: GuestInputs,
): Promise<void> {
  const settings = monitor.settingsFile(inputs.settings);
  await writeFile(paths.settings, settings, { mode: 0o600, flag: 'wx' }).catch((cause: unknown) => {
    throw unwritable(cause);
  });
  if (config.overlay_mb > 0) await inputs.overlay(paths.overlay);
}

export function networkOf({ config }: Pick<MicrovmState, 'config'>, spec: RuntimeSpec): 'none' | 'user' {
  return spec.network === 'none' ? 'none' : config.network;
}

function planOf(
  state: MicrovmState,
  making: Making,
  { slot, inputs }: { slot: number | undefined; inputs: GuestInputs },
): MonitorPlan {
  const { name, paths, image, shape, machinery, spec } = making;
  const uid = slot === undefined ? undefined : UID_BASE + slot;
  return {
    name: cgroupName(state, name),
    accelerator: machinery.accelerator,
    memory_mb: shape.memory_mb,
    vcpus: shape.vcpus,
    kernel: machinery.kernel.path,
    initramfs: machinery.initramfs.path,
    image: image.path,
    overlay: state.config.overlay_mb > 0 ? paths.overlay : undefined,
    settings: paths.settings,
    network: networkOf(state, spec),
    sockets: paths.sockets,
    pidfile: paths.pidfile,
    user: uid === undefined ? undefined : { uid, gid: uid },
    memory: inputs.memory,
    ...(inputs.state === undefined ? {} : { incoming: 'defer' }),
  };
}
