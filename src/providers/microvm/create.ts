// Making one runtime: claimed, then restored from a template or booted, and undone if that fails.
import { ServiceError } from '../../domain/errors.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { runtimeName } from '../userspace/places.ts';
import { boot } from './boot.ts';
import { clear } from './destroy.ts';
import { chooseImage } from './image.ts';
import { claimFolder, type Making } from './launch.ts';
import { runtimePaths } from './places.ts';
import { restore } from './restore.ts';
import { shapeFor } from './shape.ts';
import type { MicrovmState } from './state.ts';
import type { Template } from './template.ts';

/** Throws `conflict` when this attempt at the sandbox exists already. What failed or was aborted is gone when it settles. */
export async function createRuntime(
  state: MicrovmState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  if (spec.role === 'pool') throw new ServiceError('not_implemented', 'Virtual machines do not host pools.');
  const name = runtimeName(spec);
  const paths = runtimePaths(state.places, name);
  const { image, warnings: told } = await chooseImage(state.images, spec.image);
  await state.prepare();
  const machinery = await state.machinery.ready();
  signal.throwIfAborted();
  const making = { spec, name, paths, image, machinery, shape: shapeFor(state, spec) };
  const template =
    state.config.snapshots && state.monitor.restores
      ? await state.templates.ready(making, signal)
      : undefined;
  await claimFolder(paths.folder);
  try {
    if (!template || !(await restored(state, { making, template }, signal)))
      await state.boots.run(() => boot(state, making, signal), signal);
  } catch (error) {
    await undo(state, name);
    throw error;
  }
  const { memory_mb, vcpus, warnings } = making.shape;
  return { runtime_id: name, image: image.name, memory_mb, vcpus, warnings: [...told, ...warnings] };
}

/** False when the template would not do: nothing of the attempt is left then. */
async function restored(
  state: MicrovmState,
  { making, template }: { making: Making; template: Template },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await restore(state, { making, template }, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    await state.templates.giveUp(template, error);
    await clear(state, making.name, signal);
    await claimFolder(making.paths.folder);
    return false;
  }
}

/** The first failure is what the caller hears of; traces are swept like any runtime without a row. */
async function undo(state: MicrovmState, name: string): Promise<void> {
  await clear(state, name).catch((error: unknown) => {
    state.logger.warn({ err: error, runtime: name }, 'a failed create left traces');
  });
}
