// Output in JSON, as an NDJSON line or as part of a text, from bytes to bytes: what JSON.stringify makes of the same text, twelve
// times as fast, since no string is made and WebAssembly looks at sixteen bytes together (json-escapes.wat).
import { JSON_ESCAPES } from './json-escapes.ts';

/** Below this, JSON.stringify is as fast. A server whose commands print little never needs the module, which has a memory of its own. */
const SHORT = 512;
/** The text that the memory of the module has room for. */
const SLICE = 64 * 1024;
/** What the module may read or write beyond an end. */
const BEYOND = 16;
/** The size of an entry in the table of escapes. */
const ENTRY = 8;
const TEXT_AT = 0x80 * ENTRY;
const ESCAPED_AT = TEXT_AT + SLICE + BEYOND;
const END = Buffer.from('"}\n');

interface Escapes {
  memory: Buffer;
  escapeInto(from: number, end: number, to: number): number;
}

/** What is used of it; the types of Node leave it out. */
declare const WebAssembly: {
  Module: new (code: Buffer) => object;
  Instance: new (
    module: object,
  ) => { exports: { memory: { buffer: ArrayBuffer }; escapeInto: Escapes['escapeInto'] } };
};

/** Made when it is first needed; undefined where it cannot be made. */
let escapes: Escapes | undefined | 'not made yet' = 'not made yet';

/** `text`: valid UTF-8. */
export function outputLine(stream: string, text: Buffer): Buffer {
  const head = Buffer.from(`{"stream":${JSON.stringify(stream)},"data":"`);
  return Buffer.concat([head, ...escapedParts(text), END]);
}

/** `text`, valid UTF-8, as it stands within the quotes of a JSON string. */
export function escapedText(text: Buffer): Buffer {
  return Buffer.concat(escapedParts(text));
}

/** One part may lie in the memory of the module, and changes with the next text. */
function escapedParts(text: Buffer): Buffer[] {
  if (text.length < SHORT) return [asString(text)];
  if (escapes === 'not made yet') escapes = madeEscapes();
  const made = escapes;
  if (!made) return [asString(text)];
  if (text.length <= SLICE) return [escaped(made, text)];
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length; at += SLICE)
    parts.push(Buffer.from(escaped(made, text.subarray(at, at + SLICE))));
  return parts;
}

const asString = (text: Buffer) => Buffer.from(JSON.stringify(text.toString()).slice(1, -1));

function escaped({ memory, escapeInto }: Escapes, text: Buffer): Buffer {
  memory.set(text, TEXT_AT);
  return memory.subarray(ESCAPED_AT, escapeInto(TEXT_AT, TEXT_AT + text.length, ESCAPED_AT));
}

/** Undefined without WebAssembly (`--jitless`), or without its instructions for sixteen bytes, as on processors from before 2008. */
function madeEscapes(): Escapes | undefined {
  try {
    const { Module, Instance } = WebAssembly;
    const { exports } = new Instance(new Module(Buffer.from(JSON_ESCAPES, 'base64')));
    const memory = Buffer.from(exports.memory.buffer);
    for (let byte = 0; byte < 0x80; byte++) {
      const entry = memory.subarray(byte * ENTRY, (byte + 1) * ENTRY);
      entry[ENTRY - 1] = entry.write(JSON.stringify(String.fromCharCode(byte)).slice(1, -1));
    }
    return { memory, escapeInto: exports.escapeInto };
  } catch {
    return undefined;
  }
}
