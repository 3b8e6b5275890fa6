// The streams of a container through the engine, and sessions with its agent over them.
import type { AgentIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RuntimeRef } from '../provider.ts';
import { AttachedStream } from './attached-stream.ts';
import { inspectContainer } from './listing.ts';
import type { ContainerState } from './state.ts';

/** How long a lost session waits for the reason of its end: twenty looks, 50 ms apart. */
const EXIT_ATTEMPTS = 20;
const EXIT_PAUSE_MS = 50;
const EXIT_CALL_MS = 1000;
const STREAMS = { stream: 1, stdin: 1, stdout: 1, stderr: 1, logs: 0 };

export interface AttachedContainer {
  stream: AttachedStream;
  diagnostics: StderrTail;
}

/** Attaches to a container before or after its start; before, no output is missed. */
export async function attachStreams(
  state: ContainerState,
  name: string,
  signal: AbortSignal,
): Promise<AttachedContainer> {
  const path = `/containers/${name}/attach`;
  const order = { method: 'POST', path, query: STREAMS, what: 'attach to a sandbox' } as const;
  const socket = await state.engine.upgrade(order, signal);
  const diagnostics = new StderrTail();
  const stream = new AttachedStream(
    socket,
    (bytes) => diagnostics.add(bytes),
    () => endReason(state, name),
  );
  // 'close' always follows, and a session listens to it.
  stream.on('error', () => undefined);
  return { stream, diagnostics };
}

/**
 * Why the streams of a container ended, where the kernel killed it for its memory; undefined for every other reason. The
 * engine ends the streams a moment before it records the exit, so this asks until the container has stopped.
 */
export async function endReason({ engine, clock }: ContainerState, name: string): Promise<Error | undefined> {
  for (let attempt = 0; attempt < EXIT_ATTEMPTS; attempt++) {
    const found = await inspectContainer(engine, name, undefined, EXIT_CALL_MS);
    if (found?.state !== 'running') return found?.isOutOfMemory ? outOfMemory() : undefined;
    await clock.sleep(EXIT_PAUSE_MS);
  }
  return undefined;
}

/** Opens a session that owns `stream`. Logs the agent's standard error on failure. */
export async function openAgentSession(
  state: ContainerState,
  ref: RuntimeRef,
  { stream, diagnostics }: AttachedContainer,
  signal: AbortSignal,
): Promise<AgentIo> {
  const { clock, random, logger } = state;
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  try {
    return await openSession({ stream, secret, clock, random, logger }, signal);
  } catch (error) {
    stream.destroy();
    logger.debug({ sandbox_id: ref.id, stderr: diagnostics.tail() }, 'The agent did not open a session.');
    throw error;
  }
}

export function outOfMemory(): ServiceError {
  return new ServiceError('unavailable', 'The sandbox ran out of memory and stopped.', {
    remedy: 'Spawn a new one with more memory_mb.',
  });
}

const KEPT = 4096;

export class StderrTail {
  #text = '';

  add(bytes: Buffer): void {
    this.#text = (this.#text + bytes.subarray(-KEPT).toString('latin1')).slice(-KEPT);
  }

  /** The last 4 KiB. */
  tail(): string {
    return this.#text;
  }
}
