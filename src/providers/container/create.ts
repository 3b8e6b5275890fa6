// Creates one container: create, attach, send the secret, start, open a session. A failed container is removed. It has our
// labels from the start, so a container that cannot be removed now is found later.
import type { AgentIo } from '../../agent/io.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted, NotStarted, wrapNotStarted } from '../../domain/not-started.ts';
import { orAfter, withTimeout } from '../../domain/timeout.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import type { Created, RuntimeSpec } from '../provider.ts';
import { type AttachedContainer, attachStreams, openAgentSession } from './agent-streams.ts';
import { removeContainer } from './destroy.ts';
import { EngineUnreached, refusedWith } from './engine-faults.ts';
import { firstSession } from './linked-session.ts';
import type { Link } from './links.ts';
import { type Plan, planContainer } from './plan.ts';
import { missedAgain, PrerequisiteMissing, startFault } from './start-faults.ts';
import type { ContainerState } from './state.ts';

/** Longest wait for the engine's answer to the start of an agent that has connected. */
const ANSWER_MS = 1000;
const UNDO_MS = 10_000;
/** Less than the second that an aborted create has to settle in. */
const UNDO_ABORTED_MS = 600;

/** Throws `conflict` when this attempt at the sandbox exists already. */
export async function createRuntime(
  state: ContainerState,
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const first = await wrapNotStarted(planContainer(state, spec, signal), signal);
  const attempt: Attempt = { state, plan: first, signal };
  const plan = await started(attempt).catch(async (error: unknown) => {
    if (!(error instanceof PrerequisiteMissing)) throw error;
    forget(attempt, error);
    return startedAgain(state, spec, signal).catch((again: unknown) => {
      throw missedAgain(error, again);
    });
  });
  const { name, image, warnings } = plan;
  const { memory_mb, vcpus } = plan.spec;
  return { runtime_id: name, image, memory_mb, vcpus, warnings };
}

function forget({ state, plan, link }: Attempt, missing: PrerequisiteMissing): void {
  if (missing.part === 'link' && link)
    state.links.refused(missing.cause, { image: plan.imageId, folder: link.folder });
  else {
    state.agent.forget();
    state.network.forget();
  }
}

async function started(attempt: Attempt): Promise<Plan> {
  const { state, plan, signal } = attempt;
  const { attached, answered } = launched(attempt);
  const streams = await attached;
  const io = await orUndone(attempt, () => opened(attempt, streams));
  await orUndone(attempt, async () => {
    await giveDeadline(attempt, io);
    // Before that the engine does not call it running, and another server would take it for dead.
    await orAfter(state.clock, ANSWER_MS, answered, () => undefined);
    signal.throwIfAborted();
  });
  state.parked.put(plan.name, io);
  return plan;
}

function opened({ state, plan, link, signal }: Attempt, attached: AttachedContainer): Promise<AgentIo> {
  const { name, spec, imageId: image } = plan;
  if (!link) return openAgentSession(state, spec, attached, signal);
  return firstSession(state, { ref: spec, name }, { link, attached, image }, signal);
}

/** The engine has no lifetime for containers, so the agent holds it. */
async function giveDeadline({ state, plan, signal }: Attempt, io: AgentIo): Promise<void> {
  const lifeMs = agentLifeMs(plan.spec.deadline, state.clock.monotonic());
  if (lifeMs !== undefined) await io.setDeadline?.(lifeMs, signal);
}

/** A second attempt. The first one may have left a container, so no failure counts as "not started". */
async function startedAgain(state: ContainerState, spec: RuntimeSpec, signal: AbortSignal): Promise<Plan> {
  try {
    return await started({ state, plan: await planContainer(state, spec, signal), signal });
  } catch (error) {
    throw error instanceof NotStarted ? error.cause : error;
  }
}

interface Attempt {
  state: ContainerState;
  plan: Plan;
  signal: AbortSignal;
  /** Where the server listens for the agent, once the container is created. */
  link?: Link | undefined;
}

/** Runs `work`; on failure removes the container and throws the reason of the failed start. */
async function orUndone<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
  const { state, plan, signal } = attempt;
  try {
    return await work();
  } catch (error) {
    await attempt.link?.close();
    if (!(error instanceof NotStarted || isConflict(error))) await undo(state, plan.name, signal);
    // Without a link of its own, the folder is another attempt's.
    else if (attempt.link) await state.links.remove(plan.name);
    throw startFault(error, attempt.link?.folder);
  }
}

/** Whether the container is another attempt's. */
function isConflict(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'conflict';
}

interface Launched {
  /** Resolves when the container runs, with its secret sent and its streams attached. */
  attached: Promise<AttachedContainer>;
  /** Resolves when the engine has answered, too, which may be later where the agent connects by itself. */
  answered: Promise<unknown>;
}

/** The session can open while the engine still answers the start. */
function launched(attempt: Attempt): Launched {
  let connected!: (attached: AttachedContainer) => void;
  const early = new Promise<AttachedContainer>((resolve) => {
    connected = resolve;
  });
  const work = () => orUndone(attempt, () => launch(attempt, connected));
  const answered = attempt.state.starts.run(work, attempt.signal);
  return { attached: Promise.race([early, answered]), answered };
}

/** Resolves when the engine has started it. `connected` is called first where its agent is faster than the engine's answer. */
async function launch(
  attempt: Attempt,
  connected: (attached: AttachedContainer) => void,
): Promise<AttachedContainer> {
  const { state, plan, signal } = attempt;
  attempt.link = await state.links.open(plan.name, plan.imageId);
  await create(state, { name: plan.name, body: plan.body(attempt.link?.folder) }, signal);
  const dialled = await attachStreams(state, plan.name, signal);
  try {
    const secret = agentSecret(state.instance.key, plan.spec.id, plan.spec.epoch);
    dialled.stream.write(agentSettings(secret, plan, attempt.link));
    let isConnected = false;
    void attempt.link?.connected.then(() => {
      isConnected = true;
      connected(dialled);
    });
    await run(state, plan.name, signal).catch((error: unknown) => {
      // Its session shows whether it lives.
      if (!isConnected) throw error;
    });
    return dialled;
  } catch (error) {
    dialled.stream.destroy();
    throw error;
  }
}

/** Retries once after a lost reply: a conflict about the name then shows that the first request had arrived. */
async function create(
  state: ContainerState,
  { name, body }: { name: string; body: object },
  signal: AbortSignal,
): Promise<void> {
  const call = { method: 'POST', path: '/containers/create', query: { name }, body } as const;
  const order = { ...call, what: 'create a sandbox', ms: state.startMs };
  try {
    await state.engine.bytes(order, signal);
  } catch (error) {
    if (refusedWith(error, 409)) throw exists(error);
    if (signal.aborted || !(error instanceof ServiceError)) throw error;
    const isUnsent = error instanceof EngineUnreached;
    await state.engine.bytes(order, signal).catch((again: unknown) => {
      if (isUnsent && again instanceof EngineUnreached) throw asNotStarted(again, signal);
      if (!refusedWith(again, 409)) throw again;
    });
  }
}

async function run(state: ContainerState, name: string, signal: AbortSignal): Promise<void> {
  const path = `/containers/${name}/start`;
  await state.engine.bytes({ method: 'POST', path, what: 'start a sandbox', ms: state.startMs }, signal);
}

/** Never throws: the caller gets the first failure, and reconciliation removes a container without a row. */
async function undo(state: ContainerState, name: string, { aborted }: AbortSignal): Promise<void> {
  const { clock, logger } = state;
  const ms = aborted ? UNDO_ABORTED_MS : UNDO_MS;
  const error = () => new Error('undo timed out');
  await withTimeout({ clock, ms, error }, (late) => removeContainer(state, name, late)).catch(
    (err: unknown) =>
      logger.warn(
        { err, runtime: name },
        'Could not clean up after a failed spawn; the next reconciliation retries.',
      ),
  );
}

function exists(cause: unknown): ServiceError {
  return new ServiceError('conflict', 'This sandbox already has a runtime.', { cause });
}

const MEBIBYTE = 1024 * 1024;
const MAX_RING = 8 * MEBIBYTE;

/** 16 bytes of secret, the bytes for kept output (a sixteenth of the memory, at most 8 MiB), and the nonce of a link. */
function agentSettings(secret: Buffer, { spec }: Plan, link: Link | undefined): Buffer {
  const ring = Buffer.alloc(8);
  ring.writeBigUInt64LE(BigInt(Math.min(MAX_RING, Math.floor((spec.memory_mb * MEBIBYTE) / 16))));
  return Buffer.concat([secret, ring, ...(link ? [link.nonce] : [])]);
}
