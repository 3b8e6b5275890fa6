// The output of an exec as an async iterable. Credit goes back as pieces are taken, so a reader that stops stops the
// process; a reader that leaves the loop lets it run on and its output is dropped.

import { AgentFault } from './fault.ts';
import type { Incoming } from './incoming.ts';
import type { OutputChunk } from './io.ts';
import type { Requests } from './requests.ts';

const CHANNELS = [undefined, 'stdout', 'stderr'] as const;

/** For one consumer. Ends without an error when the stream ends; `exit` reports how. */
export function execOutput(requests: Requests, incoming: Incoming): AsyncIterable<OutputChunk> {
  const done = { done: true, value: undefined } as const;
  const next = async (): Promise<IteratorResult<OutputChunk, undefined>> => {
    const piece = await incoming.next();
    if (!piece) return done;
    const channel = CHANNELS[piece.channel];
    if (channel) return { done: false, value: { channel, data: piece.data } };
    requests.fault(new AgentFault(`output on channel ${piece.channel}`));
    return done;
  };
  const leave = async () => {
    incoming.discard();
    return done;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
}
