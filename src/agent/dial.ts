// Makes the agent connect to its host: how a session moves to a stream that is faster (agent/PROTOCOL.md, Dialling).
import { ERRNO } from './errno.ts';
import type { Requests } from './requests.ts';
import { WireWriter } from './wire.ts';

const DIAL_MS = 5000;
const WORDS = {
  [ERRNO.ENOENT]: 'The agent finds no socket of its host.',
  [ERRNO.ECONNREFUSED]: 'Nobody listens for the agent.',
};

/** As AgentIo.dial. */
export function dialHost(requests: Requests, nonce: Buffer, signal?: AbortSignal): Promise<void> {
  const args = () => new WireWriter().str(nonce);
  return requests.call('dial', () => undefined, { args, deadlineMs: DIAL_MS, words: WORDS, signal });
}
