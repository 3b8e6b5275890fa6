// Making one runtime: claimed, then restored from a snapshot or booted, and undone if that fails.

import { rm } from 'node:fs/promises';
import { agentSecret } from '../../domain/agent-secret.ts';
import { refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import { imageEnvironment } from '../local/image-environment.ts';
import { runtimeName } from '../local/instance-folders.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { clear } from './destroy.ts';
import { runtimePaths } from './folders.ts';
import { type ChosenImage, chooseImage } from './image-choice.ts';
import { useImage } from './image-use.ts';
import { claimFolder, launch, type Making, networkOf } from './launch.ts';
import { restore } from './restore.ts';
import { guestSettings } from './settings.ts';
import { shapeFor } from './shape.ts';
import type { SnapshotHold, SnapshotSource } from './snapshot-source.ts';
import type { MicrovmState } from './state.ts';

/** Throws `conflict` when this attempt at the sandbox exists already. A failed or aborted attempt is removed when this settles. */
export async function createRuntime(
  state: MicrovmState,
  snapshots: SnapshotSource,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  if (spec.role === 'pool') throw new ServiceError('not_implemented', 'Virtual machines do not host pools.');
  const plan = await wrapNotStarted(planMaking(state, snapshots, spec, signal), signal);
  try {
    await start(state, plan, signal);
  } finally {
    plan.hold?.release();
  }
  const { memory_mb, vcpus, warnings } = plan.making.shape;
  const { name, stored } = plan.image;
  const digest = stored && { image_digest: stored.image.digest };
  const shape = { memory_mb, vcpus, warnings: [...plan.warnings, ...warnings] };
  return { runtime_id: plan.making.name, image: name, ...shape, ...digest };
}

interface Start {
  making: Making;
  image: ChosenImage;
  /** What the image lacks of what was asked. */
  warnings: string[];
  hold: SnapshotHold | undefined;
}

/** Determines the parts of the runtime. Creates nothing of it. */
async function planMaking(
  state: MicrovmState,
  snapshots: SnapshotSource,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Start> {
  const name = runtimeName(spec);
  const paths = runtimePaths(state.folders, name);
  await state.checkDataFolder();
  const image = await chooseImage(state, spec);
  await state.prepare();
  const machinery = await state.machinery.ready();
  signal.throwIfAborted();
  const { env, warnings: unset } = imageEnvironment(image);
  const making = { spec, name, paths, image, env, machinery, shape: shapeFor(state, spec) };
  const warnings = [...image.warnings, ...unset];
  refuseDifferences(spec.strict, [...warnings, ...making.shape.warnings]);
  const isKept = state.config.snapshots && state.monitor.restores;
  return { making, image, warnings, hold: isKept ? await snapshots.hold(making, signal) : undefined };
}

async function start(
  state: MicrovmState,
  { making, image, hold }: Omit<Start, 'warnings'>,
  signal: AbortSignal,
): Promise<void> {
  await claimFolder(making.paths.folder);
  try {
    await useImage(state, making, image);
    if (!hold || !(await restored(state, { making, image, hold }, signal)))
      await state.boots.run(() => boot(state, making, signal), signal);
  } catch (error) {
    await undo(state, making.name);
    throw error;
  }
}

/** Returns false when the snapshot could not be restored: nothing of the attempt is left. */
async function restored(
  state: MicrovmState,
  { making, image, hold }: Omit<Start, 'warnings'> & { hold: SnapshotHold },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await restore(state, { making, snapshot: hold.snapshot }, signal);
    hold.succeeded();
    return true;
  } catch (error) {
    signal.throwIfAborted();
    await hold.failed(error);
    await clear(state, making.name, signal);
    await claimFolder(making.paths.folder);
    await useImage(state, making, image);
    return false;
  }
}

/** The caller gets the first failure; remains are swept like any runtime without a row. */
async function undo(state: MicrovmState, name: string): Promise<void> {
  await clear(state, name).catch((error: unknown) => {
    state.logger.warn(
      { err: error, runtime: name },
      'Could not clean up after a failed spawn; the next reconciliation retries.',
    );
  });
}

/** When this throws, `clear` removes the remains in the run folder. */
async function boot(state: MicrovmState, making: Making, signal: AbortSignal): Promise<void> {
  const { spec, shape, paths, env } = making;
  const secret = agentSecret(state.instance.key, spec.id, spec.epoch);
  const lifeMs = agentLifeMs(spec.deadline, state.clock.monotonic());
  const settings = guestSettings({ spec, made: shape, network: networkOf(state, spec), secret, env, lifeMs });
  const overlay = (path: string) => state.overlays.make(path);
  const { process, plan } = await launch(
    state,
    making,
    { settings, memory: { kind: 'own' }, overlay },
    signal,
  );
  try {
    await state.monitor.ready(state.clock, { process, plan }, signal);
    await rm(paths.settings, { force: true });
  } finally {
    process.release();
  }
}
