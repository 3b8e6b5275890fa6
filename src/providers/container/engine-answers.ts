// What comes back from the engine, read within bounds. Nothing in it is believed: what listens there may be anything.
import type { IncomingMessage } from 'node:http';
import type { EngineOrder } from './engine.ts';
import { EngineRefusal, engineGarbled, engineLost, engineWantsTls } from './engine-faults.ts';

const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_WORDS = 2048;
const NOT_MODIFIED = 304;
/** A server in Go says so of a plain request. */
const WANTS_TLS = /HTTP request to an HTTPS server/;

/** The head of an answer, and where it came from, for what is said of its loss. */
export interface Answered {
  answer: IncomingMessage;
  label: string;
}

/** The same for an answer that does what was asked. Throws EngineRefusal for a status of 400 or more. */
export async function accepted(order: EngineOrder, answered: Answered): Promise<Answered> {
  const status = answered.answer.statusCode ?? 0;
  if (status >= 400) {
    const { bytes } = await gathered(answered, MAX_WORDS);
    const said = words(bytes);
    throw WANTS_TLS.test(said) ? engineWantsTls(said) : new EngineRefusal(order.what, status, said);
  }
  if (status < 300 || status === NOT_MODIFIED) return answered;
  answered.answer.destroy();
  throw engineGarbled(`${order.what}: sent on with ${status}`, undefined);
}

/** All bytes of an accepted answer. Throws `provider_error` when there are more than the order allows. */
export async function whole(order: EngineOrder, answered: Answered): Promise<Buffer> {
  const { bytes, isCut } = await gathered(await accepted(order, answered), order.maxBytes ?? MAX_ANSWER);
  if (isCut) throw engineGarbled(`${order.what}: the answer is too long`, undefined);
  return bytes;
}

/** At most `max` bytes; the rest is not waited for, and its connection is given up. */
async function gathered(
  { answer, label }: Answered,
  max: number,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > max) return { bytes: Buffer.concat(chunks).subarray(0, max), isCut: true };
    }
  } catch (error) {
    throw engineLost(label, error);
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}

export function parsed(what: string, bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw engineGarbled(`${what}: not JSON`, error);
  }
}

function words(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return `${message ?? cause ?? text}`;
  } catch {
    return text;
  }
}
