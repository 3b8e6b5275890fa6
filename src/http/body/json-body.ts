// Checks JSON bodies while they arrive. A body with more structure than any request has is never built, and the content
// of a file inside JSON is decoded to bytes as it arrives: it is never a string and never part of a tree.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { ByteBlocks } from '../../domain/byte-blocks.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { JsonObject } from '../../domain/json-object.ts';
import { JsonFault, JsonStructure } from '../../domain/json-structure.ts';
import { Utf8Check } from '../../domain/utf8.ts';
import { ServedRequest } from '../served-request.ts';
import { notJson, notUtf8, readJson, tooLarge } from './body.ts';
import { eachPiece, hasCome } from './pieces.ts';
import { halfPair } from './well-formed.ts';

export interface BodyTerms {
  /** Bytes at most. */
  limit: number;
  /** Fastify's own reader of JSON text. */
  read(text: string): unknown;
  /** Opens the account that what is kept of it is on; asked for when that is more than a little. */
  hold?: (() => Hold) | undefined;
}

/** Building this much takes some milliseconds. */
const STRUCTURE = { depth: 64, tokens: 50_000 };
/** A file body has a path, a mode and an encoding beside its content. */
const FILE = { bytes: 64 * 1024, depth: 4, tokens: 200 };
const CONTENT = 'content';
/** What is bounded by the number of connections anyway. */
const SMALL = 4 * 1024;

/**
 * A small body that has come as a whole, which most are: reading it at once costs a tenth of listening for its pieces. The
 * promise is for all others. Undefined for an empty body. Both fail with `bad_request`, `payload_too_large`, and what the
 * account's ledger says.
 */
export function jsonBody(payload: IncomingMessage, terms: BodyTerms): unknown {
  const bytes =
    hasCome(payload) && payload.readableLength <= SMALL ? (payload.read() as Buffer | null) : null;
  if (bytes === null) return arrivingBody(payload, terms);
  if (payload instanceof ServedRequest) payload.isWhole = true;
  // Its end is still to be read.
  payload.resume();
  if (bytes.length > terms.limit) throw tooLarge(terms.limit);
  try {
    new JsonStructure(STRUCTURE).take(bytes);
  } catch (error) {
    throw error instanceof JsonFault ? refusal(error) : error;
  }
  return readJson(bytes, terms.read);
}

async function arrivingBody(payload: Readable, terms: BodyTerms): Promise<unknown> {
  const structure = new JsonStructure(STRUCTURE);
  const blocks = new ByteBlocks();
  const charge = charger(terms);
  try {
    await eachPiece(payload, (piece) => {
      charge(piece);
      structure.take(piece);
      blocks.append(piece);
    });
  } catch (error) {
    throw error instanceof JsonFault ? refusal(error) : error;
  }
  return readJson(Buffer.concat(blocks.taken()), terms.read);
}

export interface FileBody {
  /** The body with an empty text as its content. */
  body: unknown;
  /** What the text of its content says, in UTF-8. */
  content: Buffer[];
}

/**
 * As `jsonBody`, for a body with the content of a file. `fault` says what is wrong with the beginning of one that has more than
 * it may, as soon as that has come.
 */
export async function fileBody(
  payload: Readable,
  terms: BodyTerms,
  fault: (body: unknown) => Error | undefined,
): Promise<FileBody> {
  const object = new JsonObject([CONTENT], FILE);
  const text = new Utf8Check();
  const charge = charger(terms);
  try {
    await eachPiece(payload, (piece) => {
      charge(piece);
      if (!text.take(piece)) throw notUtf8();
      object.take(piece);
    });
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const isOver = error.reason === 'structure' || error.reason === 'size';
    throw (isOver && fault(readJson(object.beginning(), terms.read))) || refusal(error);
  }
  if (!text.end()) throw notUtf8();
  return { body: readJson(object.shell(), terms.read), content: object.text(CONTENT) ?? [] };
}

/** Throws `payload_too_large` for a byte over the limit, and what the ledger says. */
function charger({ limit, hold }: BodyTerms): (piece: Buffer) => void {
  let size = 0;
  let charged = 0;
  let account: Hold | undefined;
  return (piece) => {
    size += piece.length;
    if (size > limit) throw tooLarge(limit);
    if (size <= SMALL) return;
    account ??= hold?.();
    account?.grow(size - charged);
    charged = size;
  };
}

function refusal({ reason }: JsonFault): ServiceError {
  if (reason === 'surrogate') return halfPair(CONTENT);
  if (reason === 'syntax') return notJson();
  return new ServiceError('bad_request', 'The body has too many values or is nested too deeply.');
}
