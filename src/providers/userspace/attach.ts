// A session with the agent of a running sandbox, over the socket in its run folder.
import { connect, type Socket } from 'node:net';
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RuntimeRef } from '../provider.ts';
import { runtimeName, socketPath } from './places.ts';
import type { UserspaceState } from './state.ts';

/** Throws `unavailable` when the runtime is not running or its agent does not answer. */
export async function attachRuntime(
  state: UserspaceState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  // A socket nobody holds refuses, so the record needs no look: process 1 is the only one that has it.
  const stream = await open(socketPath(state.places, runtimeName(ref)), signal);
  const { clock, random, logger } = state;
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}

function open(path: string, signal: AbortSignal): Promise<Socket> {
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
