// Sessions over a link (links.ts). The agent of a new container connects by itself; later it is asked to through the engine. What
// fails leaves the session on the engine's stream, which always works.
import type { AgentIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import type { RuntimeRef } from '../provider.ts';
import { type AttachedContainer, attachStreams, endReason, openAgentSession } from './agent-streams.ts';
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

interface FirstLink {
  link: Link;
  attached: AttachedContainer;
  /** Id of the container's image. */
  image: string;
}

/** The first session of a container that has started with a link. Closes the link and the streams that it does not use. */
export async function firstSession(
  state: ContainerState,
  place: Place,
  { link, attached, image }: FirstLink,
  signal: AbortSignal,
): Promise<AgentIo> {
  const { links } = state;
  let io: AgentIo | undefined;
  try {
    const early = await arrived(state, place, { link, ms: links.isProven ? PROVEN_MS : UNPROVEN_MS }, signal);
    if (isSession(early)) {
      attached.stream.destroy();
      return early;
    }
    io = await openAgentSession(state, place.ref, attached, signal);
    const isBroken = early === 'broken';
    const late = isBroken ? undefined : await arrived(state, place, { link, ms: SENT_MS }, signal);
    if (!isSession(late)) links.failed(image);
    return await chosen(state, place, { io, over: late }, signal);
  } catch (error) {
    io?.close();
    attached.stream.destroy();
    throw error;
  } finally {
    await link.close();
  }
}

/** Moves a session from the engine's stream to a link, where the container has one. Closes `io` unless it returns it. */
export async function moved(
  state: ContainerState,
  place: Place,
  io: AgentIo,
  signal: AbortSignal,
): Promise<AgentIo> {
  const { dial } = io;
  const link = dial && (await state.links.reopen(place.name));
  if (!link) return io;
  let isOver = false;
  void io.closed.then(() => {
    isOver = true;
  });
  try {
    const isDialled = await dial(link.nonce, signal).then(
      () => true,
      (error: unknown) => {
        state.logger.debug(
          { err: error, runtime: place.name },
          'An agent did not connect; using the engine.',
        );
        return false;
      },
    );
    signal.throwIfAborted();
    const over = isDialled ? await arrived(state, place, { link, ms: SENT_MS }, signal) : undefined;
    return await chosen(state, place, { io, over: over ?? (isOver ? 'broken' : undefined) }, signal);
  } catch (error) {
    io.close();
    throw error;
  } finally {
    await link.close();
  }
}

/** A session over a link; `broken` if the agent connected and no session opened, which may have ended an earlier one. */
type Arrival = AgentIo | 'broken' | undefined;

const isSession = (arrival: Arrival): arrival is AgentIo => typeof arrival === 'object';

/** The session to use. Closes the other. */
async function chosen(
  state: ContainerState,
  { ref, name }: Place,
  { io, over }: { io: AgentIo; over: Arrival },
  signal: AbortSignal,
): Promise<AgentIo> {
  if (over === undefined) return io;
  io.close();
  if (isSession(over)) return over;
  return openAgentSession(state, ref, await attachStreams(state, name, signal), signal);
}

/** What comes of a connection within `ms`; undefined without one. Throws the signal's reason. */
async function arrived(
  state: ContainerState,
  { ref, name }: Place,
  { link, ms }: { link: Link; ms: number },
  signal: AbortSignal,
): Promise<Arrival> {
  const socket = await link.arrival(ms);
  if (!socket) return undefined;
  const { clock, random, logger, instance } = state;
  const secret = agentSecret(instance.key, ref.id, ref.epoch);
  const stream = new SocketStream(socket, () => endReason(state, name));
  // 'close' always follows, and a session listens to it.
  stream.on('error', () => undefined);
  try {
    const io = await openSession({ stream, isNew: true, secret, clock, random, logger }, signal);
    state.links.worked();
    logger.debug({ runtime: name }, 'The agent has connected to a socket of this server.');
    return io;
  } catch (error) {
    stream.destroy();
    signal.throwIfAborted();
    logger.debug({ err: error, runtime: name }, 'No session opened on a link; using the engine.');
    return 'broken';
  }
}
