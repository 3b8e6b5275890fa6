// What can go wrong between us and a virtual machine's monitor. Its own words are causes: logged, never sent to a caller.
import { ServiceError } from '../../domain/errors.ts';

const LONGEST_WORDS = 500;

/** The monitor refused the command. */
export class MonitorRefusal extends Error {
  constructor(command: string, words: string) {
    super(`${command}: ${words.slice(0, LONGEST_WORDS)}`);
    this.name = 'MonitorRefusal';
  }
}

/** No connection, or one that broke before the answer came: nobody knows what the monitor did. */
export function monitorLost(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'Could not reach the monitor of the virtual machine.', {
    cause,
    remedy: 'The sandbox may have ended. Spawn another one.',
  });
}

export function monitorSlow(what: string, ms: number): ServiceError {
  return new ServiceError(
    'unavailable',
    `The monitor of the virtual machine did not answer within ${ms / 1000} s.`,
    { cause: new Error(what), remedy: 'Check the load of this host.' },
  );
}

/** The message is not valid QMP, or is longer than any of its answers. */
export function monitorGarbled(what: string, cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'The monitor of the virtual machine sent an invalid message.', {
    cause: new Error(what, { cause }),
    remedy: 'Check that providers.microvm.monitor_path is the monitor that providers.microvm.monitor names.',
  });
}
