// Numbers of Linux signals. Not node:os: its numbers are those of the host's system, and the sandbox is always Linux.
import { ServiceError } from '../domain/errors.ts';
import { SIGNALS } from '../schema/signals.ts';

const NAMES: readonly string[] = SIGNALS;

/** The name of signal `number` (1 to 64); real-time ones read `SIGRTMIN+n`. */
export function signalName(number: number): string {
  const name = NAMES[number - 1];
  if (name) return name;
  return number < 34 ? `SIG${number}` : `SIGRTMIN+${number - 34}`;
}

/** The number of a name such as `SIGTERM`. Throws `bad_request` for any other word. */
export function signalNumber(name: string): number {
  const number = NAMES.indexOf(name) + 1;
  if (number === 0)
    throw new ServiceError('bad_request', 'Unknown signal.', {
      remedy: 'Use a name such as SIGTERM.',
    });
  return number;
}
