// Making one runtime: claimed, launched, and undone if that fails.
import { agentSecret } from '../../domain/agent-secret.ts';
import { refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import { runFolder, runtimeName, socketPath } from '../local/instance-folders.ts';
import { newRecord } from '../local/runtimes.ts';
import { claimBlock, claimSlot } from '../local/uid-slots.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { clear } from './destroy.ts';
import { differences } from './differences.ts';
import { chooseImage } from './image.ts';
import { useImage } from './image-use.ts';
import { chooseUser } from './image-user.ts';
import { launch } from './launch.ts';
import type { CreateOrder, PlannedOrder } from './order.ts';
import { planSandbox, resolverWish, type SandboxPlan } from './plan.ts';
import { processMarker } from './process-marker.ts';
import { hasFolder, type RecordDraft } from './record.ts';
import type { UserspaceState } from './state.ts';
import { makeTracedRoot } from './traced-root.ts';
import { makeWorkspace } from './workspace.ts';

/** Throws `conflict` when this attempt at the sandbox exists already. A failed or aborted attempt is removed when this settles. */
export async function createRuntime(
  state: UserspaceState,
  given: CreateOrder,
  signal: AbortSignal,
): Promise<Created> {
  const name = runtimeName(given.spec);
  const order = await wrapNotStarted(prepared(state, given), signal);
  signal.throwIfAborted();
  if (await hasFolder(runFolder(state.folders, name))) throw exists();
  socketPath(state.folders, name);
  try {
    return await make(state, order, signal);
  } catch (error) {
    state.forgetViews();
    await undo(state, name);
    throw error;
  }
}

async function prepared(state: UserspaceState, given: CreateOrder): Promise<PlannedOrder> {
  const { cgroups } = await state.prepare();
  const image = await chooseImage(state, given.spec);
  const { user } = state.config;
  const chosen = await state.slowly(() => chooseUser({ user, image, runner: given.runner.name }));
  const order = { ...given, image, user: chosen };
  if (order.spec.strict) {
    const facts = { bounds: cgroups.folders, resolver: await resolverWish(state, order) };
    refuseDifferences(true, differences(state.config, order, facts));
  }
  return order;
}

/** The caller gets the first failure; remains are swept like any runtime without a row. */
async function undo(state: UserspaceState, name: string): Promise<void> {
  await clear(state, name).catch((error: unknown) => {
    state.logger.warn(
      { err: error, runtime: name },
      'Could not clean up after a failed spawn; the next reconciliation retries.',
    );
  });
}

async function make(state: UserspaceState, order: PlannedOrder, signal: AbortSignal): Promise<Created> {
  const { runner, spec } = order;
  const name = runtimeName(spec);
  await useImage(state, name, order.image);
  const slot = await claimUids(state, spec, name);
  const workspace =
    runner.name === 'proot'
      ? await makeTracedRoot(state, order, slot)
      : await makeWorkspace(state, spec, slot);
  const drawing = await planSandbox(state, order, { slot, workspace });
  const { blueprint, staged, stagedTree, memory_mb } = drawing;
  const record = recordDraft(state, order, drawing);
  const secret = agentSecret(state.instance.key, spec.id, spec.epoch);
  const lifeMs = agentLifeMs(spec.deadline, state.clock.monotonic());
  const start = { runner, blueprint, staged, stagedTree, memory_mb, record, secret, lifeMs };
  const found = await launch(state, start, signal);
  const warnings = [...drawing.warnings, ...found];
  const digest = order.image.stored && { image_digest: order.image.stored.image.digest };
  const listens = spec.listens && { listens: true as const };
  return {
    runtime_id: name,
    image: drawing.image,
    memory_mb,
    vcpus: spec.vcpus,
    warnings,
    ...digest,
    ...listens,
  };
}

/** Distance from UID_BASE of the sandbox's uid, or of the first of a pool's; undefined: the server's own. */
async function claimUids(state: UserspaceState, { role }: RuntimeSpec, name: string) {
  const { folders, random, host } = state;
  if (host.uid === 0)
    return role === 'pool' ? claimBlock(folders, name, random) : claimSlot(folders, name, random);
  if (role === 'pool') throw new ServiceError('not_implemented', 'Userspace needs root to host a pool.');
  return undefined;
}

function recordDraft(
  state: UserspaceState,
  { runner, spec, image }: PlannedOrder,
  drawing: SandboxPlan,
): RecordDraft {
  const mark = runner.name === 'proot' && { mark: processMarker(state, drawing.blueprint.name) };
  const tree = image.stored && { tree: image.stored.tree };
  return { ...newRecord(state, spec, drawing), ...mark, ...tree, cgroups: drawing.blueprint.cgroups.folders };
}

function exists(): ServiceError {
  return new ServiceError('conflict', 'This sandbox already has a runtime.');
}
