// The socket through which an agent of this machine is reached, and the session over it.
import { connect, type Socket } from 'node:net';
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RuntimeRef } from '../provider.ts';
import type { LocalDeps } from './runtimes.ts';

/** Throws `unavailable` when nobody listens, the signal's reason on abort. */
export function openAgentSocket(path: string, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const abort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    // Nothing of the opening stays with the open socket, which lasts as long as its session.
    const settle = (act: () => void) => {
      signal.removeEventListener('abort', abort);
      socket.off('connect', onConnect).off('error', onError);
      act();
    };
    const onConnect = () => settle(() => resolve(socket));
    const onError = (cause: Error) => {
      const remedy = 'Destroy it and spawn a new one.';
      settle(() => reject(new ServiceError('unavailable', 'The sandbox is not running.', { cause, remedy })));
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.once('connect', onConnect).once('error', onError);
  });
}

/** A session of the sandbox over `stream`, which is new if it leads to the agent itself. Throws `unavailable` when the agent does not answer, or another session has the port. */
export function sandboxSession(
  { instance, clock, random, logger }: LocalDeps<unknown>,
  { id, epoch }: RuntimeRef,
  over: { stream: Socket; isNew?: true },
  signal: AbortSignal,
): Promise<SandboxIo> {
  return openSession(
    { ...over, secret: agentSecret(instance.key, id, epoch), clock, random, logger },
    signal,
  );
}
