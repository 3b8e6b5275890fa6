// One request to a program in a sandbox, over a tunnel of its own. Node's own client reads the answer: strictly, with
// bounded heads. What it lets pass and a gateway must not is refused here: floods of interim answers, silence, and
// protocols that nobody asked for.
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { idleTimeout } from '../../domain/idle-timeout.ts';
import type { Clock } from '../../domain/ports.ts';
import { hasBody } from '../body/body.ts';
import { badAnswer, doubtOf } from './guest-answer.ts';

const MAX_HEAD_BYTES = 32 * 1024;
const MAX_INTERIM = 16;
/** From the last byte of the request that the guest took to the head of its answer; twice that at most. */
const ANSWER_MS = 60_000;

export interface UpstreamRequest {
  /** The visitor's request: method and body. */
  raw: IncomingMessage;
  url: string;
  /** Flat list. */
  headers: string[];
  clock: Clock;
}

/** The tunnel speaks another protocol now; `head` is what came of it already. */
export interface Switched {
  kind: 'switched';
  answer: IncomingMessage;
  head: Buffer;
}

/** Sends it and resolves with the head of the answer. Rejects with 502 or 504; the tunnel is then of no more use. */
export function requestUpstream(
  tunnel: Duplex,
  question: UpstreamRequest,
): Promise<{ kind: 'answer'; answer: IncomingMessage } | Switched> {
  return new Promise((resolve, reject) => {
    const outgoing = open(tunnel, question);
    // The stream of the response reports failures after it has started.
    let isSettled = false;
    const settle = () => {
      const isFirst = !isSettled;
      isSettled = true;
      watch.stop();
      return isFirst;
    };
    const fail = (failure: ServiceError) => {
      if (!settle()) return;
      reject(failure);
      outgoing.destroy();
    };
    const watch = idleTimeout(question.clock, ANSWER_MS, () => fail(tooLate()));
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) fail(badAnswer());
    });
    outgoing.once('response', (answer) => {
      const doubt = doubtOf(answer);
      if (doubt) fail(doubt);
      else if (settle()) resolve({ kind: 'answer', answer });
    });
    outgoing.once('upgrade', (answer, _socket, head) => {
      if (settle()) resolve({ kind: 'switched', answer, head });
    });
    outgoing.on('error', (error) => fail(error instanceof ServiceError ? error : badAnswer(error)));
    outgoing.once('close', () => fail(badAnswer()));
    sendBody(question.raw, outgoing, watch.touch);
  });
}

function open(tunnel: Duplex, { raw, url, headers }: UpstreamRequest): ClientRequest {
  try {
    const outgoing = request({
      createConnection: () => tunnel,
      method: raw.method,
      path: url,
      headers,
      setHost: false,
      maxHeaderSize: MAX_HEAD_BYTES,
      insecureHTTPParser: false,
    });
    // Node would drop headers after about the 1,000th without a word, and what is left may mean something else.
    outgoing.maxHeadersCount = 0;
    return outgoing;
  } catch (cause) {
    throw new ServiceError('bad_request', 'The request cannot be forwarded.', { cause });
  }
}

/** Not by `pipeline`: a guest that answers early and closes must not end the visitor's connection. */
function sendBody(raw: IncomingMessage, outgoing: ClientRequest, touch: () => void): void {
  if (!hasBody(raw.headers)) return void outgoing.end();
  // The guest may answer before the first byte of the body.
  outgoing.flushHeaders();
  const stop = () => {
    raw.off('data', touch).unpipe(outgoing);
    // The visitor reads the answer when the rest is taken.
    raw.resume();
  };
  outgoing.once('close', stop);
  raw.pipe(outgoing).once('error', stop);
  raw.on('data', touch);
}

function tooLate(): ServiceError {
  return new ServiceError('timeout', 'The program in the sandbox did not answer in time.', {
    status: 504,
    remedy: 'Check the program that listens on this port.',
  });
}
