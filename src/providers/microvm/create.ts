// Making one runtime: claimed, recorded, started, and undone if that fails.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { UID_BASE } from '../userspace/identity.ts';
import { runtimeName } from '../userspace/places.ts';
import { claimSlot } from '../userspace/uid-slots.ts';
import { clear, startOf } from './destroy.ts';
import { chooseImage } from './image.ts';
import type { Machinery } from './machinery.ts';
import { ready, startMonitor } from './monitor.ts';
import type { MonitorPlan } from './monitor-plan.ts';
import { type RuntimePaths, runtimePaths } from './places.ts';
import { type RuntimeRecord, unwritable, writeRecord } from './record.ts';
import { guestSettings } from './settings.ts';
import { type Shape, shapeFor } from './shape.ts';
import type { MicrovmState } from './state.ts';

interface Making {
  spec: RuntimeSpec;
  name: string;
  paths: RuntimePaths;
  shape: Shape;
  image: { name: string; path: string };
  machinery: Machinery;
}

/** Throws `conflict` when this attempt at the sandbox exists already. What failed or was aborted is gone when it settles. */
export async function createRuntime(
  state: MicrovmState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const name = runtimeName(spec);
  const paths = runtimePaths(state.places, name);
  const { image, warnings: told } = await chooseImage(state.images, spec.image);
  await state.prepare();
  const machinery = await state.machinery.ready();
  signal.throwIfAborted();
  await claimFolder(paths.folder);
  const making = { spec, name, paths, image, machinery, shape: shapeFor(state, spec) };
  try {
    await make(state, making, signal);
  } catch (error) {
    await undo(state, name);
    throw error;
  }
  const { memory_mb, vcpus, warnings } = making.shape;
  return { runtime_id: name, image: image.name, memory_mb, vcpus, warnings: [...told, ...warnings] };
}

async function claimFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST')
      throw new ServiceError('conflict', 'This sandbox has a runtime already.', { cause });
    throw unwritable(cause);
  });
}

/** The first failure is what the caller hears of; traces are swept like any runtime without a row. */
async function undo(state: MicrovmState, name: string): Promise<void> {
  await clear(state, name).catch((error: unknown) => {
    state.logger.warn({ err: error, runtime: name }, 'a failed create left traces');
  });
}

async function make(state: MicrovmState, making: Making, signal: AbortSignal): Promise<void> {
  const { paths, machinery } = making;
  const slot = state.host.uid === 0 ? await claimSlot(state.places, making.name, state.random) : undefined;
  const record = recordOf(state, making, slot);
  await writeRecord(paths.folder, record);
  await writeInputs(state, making);
  signal.throwIfAborted();
  const plan = planOf(state, making, slot);
  const process = await startMonitor(state, { monitor: machinery.monitor, plan });
  try {
    const pid_start = await startOf(process.pid);
    if (pid_start !== undefined) await writeRecord(paths.folder, { ...record, pid: process.pid, pid_start });
    await ready(state, { process, plan }, signal);
    await rm(paths.settings, { force: true });
  } finally {
    process.letGo();
  }
}

/** What the monitor reads, and the disk for changes. */
async function writeInputs(state: MicrovmState, { spec, shape, paths }: Making): Promise<void> {
  const secret = agentSecret(state.instance.key, spec.id, spec.epoch);
  const network = networkOf(state, spec);
  const settings = guestSettings({ spec, made: shape, network, secret });
  await writeFile(paths.settings, settings, { mode: 0o600, flag: 'wx' }).catch((cause: unknown) => {
    throw unwritable(cause);
  });
  if (state.config.overlay_mb > 0) await state.overlays.make(paths.overlay);
}

function networkOf({ config }: MicrovmState, spec: RuntimeSpec): 'none' | 'user' {
  return spec.network === 'none' ? 'none' : config.network;
}

function planOf(state: MicrovmState, making: Making, slot: number | undefined): MonitorPlan {
  const { name, paths, image, shape, machinery, spec } = making;
  const uid = slot === undefined ? undefined : UID_BASE + slot;
  return {
    name: `svc-${state.places.short}-${name}`,
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
    memory: { kind: 'own' },
  };
}

function recordOf(state: MicrovmState, { spec, image }: Making, slot: number | undefined): RuntimeRecord {
  return {
    instance: state.instance.id,
    id: spec.id,
    epoch: spec.epoch,
    boot_id: state.host.bootId,
    image: image.name,
    created_at: new Date(state.clock.now()).toISOString(),
    expires_at: spec.expires_at,
    ...(slot === undefined ? {} : { uid_slot: slot }),
  };
}
