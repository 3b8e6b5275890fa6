// Standard input of an exec: a pipe that waits for the program, or nothing.
import { ServiceError } from '../domain/errors.ts';
import type { Exec } from './io.ts';
import type { Outgoing } from './outgoing.ts';

/** An exec without a pipe on its standard input. */
export const noStdin: Exec['stdin'] = {
  write: async () => {
    throw new ServiceError('bad_request', 'This command does not have a standard input.');
  },
  end: () => undefined,
};

/** What is written after the program closed its input is dropped in silence, as `io.ts` says. */
export function openStdin(stream: { outgoing: Outgoing }): Exec['stdin'] {
  let isEnded = false;
  return {
    write: async (data) => {
      if (isEnded) throw new ServiceError('bad_request', 'The standard input is closed.');
      await stream.outgoing.send(0, data);
    },
    end: () => {
      if (!isEnded) stream.outgoing.end(0);
      isEnded = true;
    },
  };
}
