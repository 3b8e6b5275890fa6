// What goes wrong with a session as a whole. A fault is the agent breaking the protocol: it never reaches a caller as
// such, it ends the session, and the callers see `unavailable`.
import { ServiceError } from '../domain/errors.ts';

/** The agent broke the protocol of agent/PROTOCOL.md. The text is for the log only. */
export class AgentFault extends Error {
  override readonly name: string = 'AgentFault';
}

/** What was read ends before the value does. In a stream of records it means: wait for more. */
export class ShortRead extends AgentFault {
  override readonly name = 'ShortRead';
}

/** What every call in flight fails with when its session ends. `on` says where the sandbox is, unless it is here. */
export function sandboxLost(cause?: unknown, on?: string): ServiceError {
  return new ServiceError(
    'unavailable',
    `The sandbox${on === undefined ? '' : ` ${on}`} stopped answering.`,
    {
      cause,
      remedy: 'Try again. If the error persists, destroy the sandbox and spawn a new one.',
    },
  );
}

/** What one call fails with when the agent lives but does not answer it. */
export function tooLate(what: string): ServiceError {
  return new ServiceError('unavailable', `The sandbox did not answer in time: ${what}.`, {
    remedy: 'Try again.',
  });
}
