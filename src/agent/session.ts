// A sandbox's agent as SandboxIo: opens the wire on one duplex byte stream and puts the parts together.
import type { Logger } from '../domain/ports.ts';
import { Conversation } from './conversation.ts';
import { sandboxInside } from './inside.ts';
import type { AgentIo } from './io.ts';
import { type OpeningDeps, openWire } from './opening.ts';
import { seedGuest } from './seed.ts';
import { userIo } from './user.ts';

export interface SessionDeps extends OpeningDeps {
  logger: Logger;
}

/**
 * Opens a session; the agent ends the one before it. The stream belongs to the session from now on and is destroyed
 * with it. Rejects with `unavailable` when the agent does not answer (at most 6 s), or with the signal's reason;
 * `signal` has no meaning after that.
 */
export async function openSession(deps: SessionDeps, signal?: AbortSignal): Promise<AgentIo> {
  const { tag, build, rest } = await openWire(deps, signal);
  deps.logger.debug({ build }, 'agent session open');
  const conversation = new Conversation(deps, tag, rest);
  const { talk, closed } = conversation;
  return {
    ...sandboxInside(talk),
    as: (user) => userIo(talk, user, closed),
    seed: (order, signal) => seedGuest(talk, order, signal),
    close: () => conversation.close(),
    closed,
  };
}
