// The socket through which an agent of this machine is reached.
import { connect, type Socket } from 'node:net';
import { ServiceError } from '../../domain/errors.ts';

/** Throws `unavailable` when nobody listens, the signal's reason on abort. */
export function openAgentSocket(path: string, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const abort = () => {
      socket.destroy();
      reject(signal.reason);
    };
    const settle = (act: () => void) => {
      signal.removeEventListener('abort', abort);
      act();
    };
    signal.addEventListener('abort', abort, { once: true });
    socket.once('connect', () => settle(() => resolve(socket)));
    socket.once('error', (cause) => settle(() => reject(notRunning(cause))));
  });
}

function notRunning(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The sandbox is not running.', {
    cause,
    remedy: 'Destroy it and spawn a new one.',
  });
}
