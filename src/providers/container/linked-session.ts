// Sessions over a link (links.ts). The agent of a new container connects by itself; later it is asked to through the engine. What
// fails leaves the session on the engine's stream, which always works.
import type { AgentIo, SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import type { RuntimeRef } from '../provider.ts';
import { type AttachedContainer, endReason, openAgentSession } from './agent-streams.ts';
import type { Link } from './links.ts';
import { SocketStream } from './socket-stream.ts';
import type { ContainerState } from './state.ts';

/** For a connection that links have shown to come, and for one that may not: then the engine's stream is asked soon. */
const PROVEN_MS = 2000;
const UNPROVEN_MS = 20;
/** The agent has tried, or says that it has connected: what it sent is read within a few turns of the event loop. */
const SENT_MS = 100;

interface Place {
  ref: RuntimeRef;
  /** Name of the container. */
  name: string;
}

/** The first session of a container that has started with a link. Closes the link and the streams that it does not use. */
export async function firstSession(
  state: ContainerState,
  place: Place,
  { link, attached }: { link: Link; attached: AttachedContainer },
  signal: AbortSignal,
): Promise<SandboxIo> {
  const { links } = state;
  try {
    const early = await arrived(state, place, { link, ms: links.isProven ? PROVEN_MS : UNPROVEN_MS }, signal);
    if (early) {
      attached.stream.destroy();
      return early;
    }
    const io = await openAgentSession(state, place.ref, attached, signal);
    const late = await arrived(state, place, { link, ms: SENT_MS }, signal);
    if (!late) links.failed();
    else io.close();
    return late ?? io;
  } finally {
    await link.close();
  }
}

/** Moves a session from the engine's stream to a link, where the container has one. */
export async function moved(
  state: ContainerState,
  place: Place,
  io: AgentIo,
  signal: AbortSignal,
): Promise<SandboxIo> {
  const { dial } = io;
  const link = dial && (await state.links.reopen(place.name));
  if (!link) return io;
  try {
    await dial(link.nonce, signal);
    const over = await arrived(state, place, { link, ms: SENT_MS }, signal);
    if (over) io.close();
    return over ?? io;
  } catch (error) {
    if (signal.aborted) throw error;
    state.logger.debug({ err: error, runtime: place.name }, 'An agent did not connect; using the engine.');
    return io;
  } finally {
    await link.close();
  }
}

/** A session on the connection that comes within `ms`; undefined without one, or if no session opens on it. */
async function arrived(
  state: ContainerState,
  { ref, name }: Place,
  { link, ms }: { link: Link; ms: number },
  signal: AbortSignal,
): Promise<AgentIo | undefined> {
  const socket = await link.arrival(ms);
  if (!socket) return undefined;
  const { clock, random, logger, instance } = state;
  const secret = agentSecret(instance.key, ref.id, ref.epoch);
  const stream = new SocketStream(socket, () => endReason(state, name));
  try {
    const io = await openSession({ stream, secret, clock, random, logger }, signal);
    state.links.worked();
    logger.debug({ runtime: name }, 'The agent has connected to a socket of this server.');
    return io;
  } catch (error) {
    if (signal.aborted) throw error;
    logger.debug({ err: error, runtime: name }, 'No session opened on a link; using the engine.');
    return undefined;
  }
}
