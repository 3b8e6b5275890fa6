// Passes a guest's response to the visitor, as it arrives and at the visitor's pace. A response that breaks off ends
// the visitor's connection: it must not look complete.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { idleTimeout } from '../../domain/idle-timeout.ts';
import type { Clock } from '../../domain/ports.ts';
import { badAnswer, visitorHeaders } from './guest-answer.ts';

/** A body of which nothing moves for so long, or twice that, is given up. */
const SILENCE_MS = 600_000;

export interface Receiver {
  response: ServerResponse;
  /** The preview's, without a port. */
  name: string;
  request_id: string;
  clock: Clock;
  /** The answer is a stream of events: it ends when nobody waits for it any more. */
  endless(response: ServerResponse): void;
}

/** Resolves when all was handed over or the visitor has disconnected. Rejects only before the response has started. */
export async function relayResponse(answer: IncomingMessage, receiver: Receiver): Promise<void> {
  const { response, name, request_id, clock } = receiver;
  begin(response, answer.statusCode ?? 0, [...visitorHeaders(answer, name), 'X-Request-ID', request_id]);
  if (answer.headers['content-type']?.startsWith('text/event-stream')) receiver.endless(response);
  const watch = idleTimeout(clock, SILENCE_MS, () => response.destroy());
  const passing = pipeline(answer, response);
  answer.on('data', watch.touch);
  // The visitor notices by the end of the connection.
  await passing.catch(() => response.destroy()).finally(watch.stop);
}

/** The head goes out before the body comes: a stream of events may be silent for long. */
function begin(response: ServerResponse, status: number, headers: string[]): void {
  try {
    response.writeHead(status, headers);
  } catch (cause) {
    throw badAnswer(cause);
  }
  response.flushHeaders();
}
