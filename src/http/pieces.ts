// Writes the JSON of large responses in pieces of bytes. Each takes little time, so that no response blocks others, and
// the entire text never exists: sent pieces are freed.
import { OutputText } from '../domain/output.ts';
import { escapedText } from './output-line.ts';

/** Bytes or characters of a piece, about; a single entry of a list may be longer. */
export const PIECE = 32 * 1024;

/** The pieces of a list whose entries `textOf` writes. */
export function listPieces<T>(entries: readonly T[], textOf: (entry: T) => string): Generator<Buffer> {
  return joined(listParts(entries, textOf));
}

/** The pieces of an object; its outputs, at the top or one level below, are written from their bytes. */
export function withOutputs(value: object): Generator<Buffer> {
  return joined(objectParts(value));
}

/** The pieces of bytes in memory, which are not copied. */
export function* bytePieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** The pieces of a text in memory. A pair of surrogates stays together. */
export function* textPieces(text: string): Generator<Buffer> {
  for (let at = 0; at < text.length; ) {
    const isPair = /[\ud800-\udbff]/.test(text.charAt(at + PIECE - 1));
    const end = at + PIECE + (isPair ? 1 : 0);
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}

function* listParts<T>(entries: readonly T[], textOf: (entry: T) => string): Generator<string> {
  yield '[';
  for (const [index, entry] of entries.entries()) yield index === 0 ? textOf(entry) : `,${textOf(entry)}`;
  yield ']';
}

function* objectParts(value: object, below = 1): Generator<string | Buffer> {
  let before = '{';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (member instanceof OutputText) yield* outputParts(member);
    else if (below > 0 && holdsOutput(member)) yield* objectParts(member, below - 1);
    else yield JSON.stringify(member);
  }
  yield before === '{' ? '{}' : '}';
}

/** Whether it is an object that an OutputText is a member of. */
export function holdsOutput(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((member) => member instanceof OutputText);
}

function* outputParts(output: OutputText): Generator<string | Buffer> {
  yield '"';
  for (const piece of output.pieces()) yield output.encoding === 'utf8' ? escapedText(piece) : piece;
  yield '"';
}

/** Small parts together, none cut. Bytes that are a piece by themselves are not copied. */
function* joined(parts: Iterable<string | Buffer>): Generator<Buffer> {
  let waiting: Buffer[] = [];
  let text = '';
  let size = 0;
  const taken = () => {
    const piece = Buffer.concat([...waiting, Buffer.from(text)]);
    [waiting, text, size] = [[], '', 0];
    return piece;
  };
  for (const part of parts) {
    if (typeof part !== 'string' && part.length >= PIECE) {
      if (size > 0) yield taken();
      yield part;
      continue;
    }
    if (typeof part === 'string') text += part;
    else waiting.push(Buffer.from(text), part);
    if (typeof part !== 'string') text = '';
    size += part.length;
    if (size >= PIECE) yield taken();
  }
  if (size > 0) yield taken();
}
