// Base64 in request bodies. Node's decoder skips what it does not know; a file must not lose bytes that way.
import { setImmediate } from 'node:timers/promises';
import { ServiceError } from '../../domain/errors.ts';

/** The bytes. Throws `bad_request` unless `text` is standard base64 with its padding. */
export function strictBase64(text: string, field: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const isComplete = text.length % 4 === 0 && bytes.length === (text.length / 4) * 3 - padding;
  // The URL alphabet would decode as well; unused bits at the end show in the last four characters.
  const standard = !text.includes('-') && !text.includes('_');
  const tail = bytes.subarray(bytes.length - (bytes.length % 3 || 3)).toString('base64');
  if (isComplete && standard && (text === '' || text.endsWith(tail))) return bytes;
  throw notBase64(field);
}

/** Decoded between two turns of the event loop: about a millisecond. */
const BLOCKS_PER_TURN = 16;

/** The same for text in blocks, of which all but the last have a length that is a multiple of 4. Empties `blocks`. */
export async function strictBase64Blocks(blocks: Buffer[], field: string): Promise<Buffer[]> {
  const decoded: Buffer[] = [];
  for (let block = blocks.shift(); block; block = blocks.shift()) {
    const bytes = strictBase64(block.toString('latin1'), field);
    if (blocks.length > 0 && bytes.length !== (block.length / 4) * 3) throw notBase64(field);
    decoded.push(bytes);
    if (decoded.length % BLOCKS_PER_TURN === 0) await setImmediate();
  }
  return decoded;
}

function notBase64(field: string): ServiceError {
  return new ServiceError('bad_request', `${field} is not base64.`, {
    remedy: 'Use the standard alphabet with padding.',
  });
}
