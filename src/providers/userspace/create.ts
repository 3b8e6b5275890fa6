// Making one runtime: what is asked is cut to what this host gives, then claimed, launched, and undone if that fails.
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import type { Blueprint } from './blueprint.ts';
import { planCgroups } from './cgroups.ts';
import { cgroupName, clear } from './destroy.ts';
import { chooseImage } from './image.ts';
import { launch, stagedPath } from './launch.ts';
import { runFolder, runtimeName, socketPath } from './places.ts';
import { hasFolder, type RecordDraft } from './record.ts';
import type { Runner } from './runner.ts';
import { sizesFor } from './sizes.ts';
import type { UserspaceState } from './state.ts';
import { claimSlot } from './uid-slots.ts';
import { makeWorkspace } from './workspace.ts';

/** Throws `conflict` when this attempt at the sandbox exists already. What failed or was aborted is gone when it settles. */
export async function createRuntime(
  state: UserspaceState,
  runner: Runner,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const name = runtimeName(spec);
  await state.prepare();
  signal.throwIfAborted();
  if (await hasFolder(runFolder(state.places, name))) throw exists();
  socketPath(state.places, name);
  try {
    return await make(state, runner, spec, signal);
  } catch (error) {
    await clear(state, name).catch((cause: unknown) =>
      state.logger.warn({ err: cause, name }, 'a failed create left traces'),
    );
    throw error;
  }
}

async function make(
  state: UserspaceState,
  runner: Runner,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const name = runtimeName(spec);
  const image = chooseImage(state.config, spec.image);
  const memory_mb = Math.min(spec.memory_mb, state.config.max_memory_mb);
  const { agent, cgroups } = await state.prepare();
  const slot = state.host.uid === 0 ? await claimSlot(state.places, name, state.random) : undefined;
  const workspace = await makeWorkspace(state, name, slot);
  const network = networkOf(state, spec);
  const own = slot !== undefined;
  const place = (part: string, path: string) => (own ? stagedPath(state, name, part) : path);
  const blueprint: Blueprint = {
    name,
    id: spec.id,
    view: await state.view(image.rootfs, network),
    network,
    agent: place('svc-agent', agent),
    ...(workspace ? { workspace: place('workspace', workspace) } : {}),
    sizes: sizesFor(memory_mb, state.config),
    cgroups: planCgroups(cgroups, cgroupName(state, name), { memory_mb, vcpus: spec.vcpus }),
  };
  const warnings = await launch(
    state,
    {
      runner,
      blueprint,
      record: draft(state, spec, { image: image.name, slot, cgroups: blueprint.cgroups.folders }),
      secret: agentSecret(state.instance.key, spec.id, spec.epoch),
      memory_mb,
      staged: own ? { 'svc-agent': agent, ...(workspace ? { workspace } : {}) } : {},
    },
    signal,
  );
  return {
    runtime_id: name,
    image: image.name,
    memory_mb,
    vcpus: spec.vcpus,
    warnings: [
      ...image.warnings,
      ...memoryWarnings(spec.memory_mb, memory_mb),
      ...readOnly(runner, image.rootfs),
      ...warnings,
    ],
  };
}

function networkOf(state: UserspaceState, spec: RuntimeSpec): 'none' | 'host' {
  return spec.network === 'default' && state.config.network === 'host' ? 'host' : 'none';
}

function memoryWarnings(asked: number, given: number): string[] {
  return asked > given
    ? [`memory_mb is ${given}, the most that userspace sandboxes get here, instead of ${asked}.`]
    : [];
}

function readOnly(runner: Runner, rootfs: string | undefined): string[] {
  return rootfs && runner.name === 'bwrap' ? ['The image is read-only: bubblewrap makes no overlay.'] : [];
}

interface DraftParts {
  image: string;
  slot: number | undefined;
  cgroups: string[];
}

function draft(state: UserspaceState, spec: RuntimeSpec, parts: DraftParts): RecordDraft {
  return {
    instance: state.instance.id,
    id: spec.id,
    epoch: spec.epoch,
    boot_id: state.host.bootId,
    image: parts.image,
    created_at: new Date(state.clock.now()).toISOString(),
    expires_at: spec.expires_at,
    ...(parts.slot === undefined ? {} : { uid_slot: parts.slot }),
    cgroups: parts.cgroups,
  };
}

function exists(): ServiceError {
  return new ServiceError('conflict', 'This sandbox has a runtime already.');
}
