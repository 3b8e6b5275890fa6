// What a request body may be: no content coding, a media type that the route takes, JSON as JSON.parse reads it but
// without keys that reach for prototypes. Everything is decided from the headers before a byte is read.
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Route } from '../route.ts';
import { refuseHalfPairs } from './well-formed.ts';

export const JSON_TYPE = 'application/json';
export const BYTES_TYPE = 'application/octet-stream';
export const TAR_TYPE = 'application/x-tar';

/** Whether the request announces a body that is not empty. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  if (headers['transfer-encoding'] !== undefined) return true;
  return headers['content-length'] !== undefined && headers['content-length'] !== '0';
}

/** Whether it is a raw upload of no bytes, which says so: without Content-Length there is no body at all. */
export function isEmptyFile({ bodyKind }: Pick<Route, 'bodyKind'>, headers: IncomingHttpHeaders): boolean {
  return bodyKind === 'raw_file' && headers['content-length'] === '0' && mediaType(headers) === BYTES_TYPE;
}

/** Whether its body is an archive, which is passed on as it comes. */
export const isArchiveKind = ({ bodyKind }: { bodyKind?: Route['bodyKind'] | undefined }): boolean =>
  bodyKind === 'archive' || bodyKind === 'folder';

/** Why the end of the body is in doubt, so that nothing after it may be taken for a request. */
export function framingFailure(headers: IncomingHttpHeaders): ServiceError | undefined {
  const transfer = headers['transfer-encoding'];
  if (transfer === undefined || transfer.toLowerCase() === 'chunked') return undefined;
  return new ServiceError('bad_request', 'Unsupported Transfer-Encoding.');
}

/** The media type without parameters, in lower case. */
export function mediaType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** Throws `unsupported_media_type`, `payload_too_large`, or `bad_request` for a body where none is taken. */
export function checkBody(
  route: Pick<Route, 'body' | 'bodyKind'>,
  headers: IncomingHttpHeaders,
  limit: number,
): void {
  if (!hasBody(headers)) return;
  const coding = headers['content-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'identity')
    throw mistyped('Compressed bodies are not supported.');
  if (!route.body) throw new ServiceError('bad_request', 'This request does not accept a body.');
  const type = mediaType(headers);
  const isArchive = isArchiveKind(route);
  if (isArchive && type !== TAR_TYPE && type !== BYTES_TYPE) throw mistyped(`Send the body as ${TAR_TYPE}.`);
  const bytes = route.bodyKind === 'raw_file' && type === BYTES_TYPE;
  if (!isArchive && type !== JSON_TYPE && !bytes) {
    throw mistyped(
      `Send the body as ${JSON_TYPE}${route.bodyKind === 'raw_file' ? ` or ${BYTES_TYPE}` : ''}.`,
    );
  }
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
}

export function tooLarge(limit: number): ServiceError {
  return new ServiceError('payload_too_large', `The body is larger than the limit of ${limit} bytes.`, {
    details: { limit },
  });
}

function mistyped(message: string): ServiceError {
  return new ServiceError('unsupported_media_type', message);
}

/** Fastify's own reader of JSON text, which refuses keys such as `__proto__`. */
type JsonReader = (text: string) => unknown;

/** What stands for `null`, which the framework cannot tell from no body: no schema takes a symbol. */
const NOTHING = Symbol('null');

/** Undefined for an empty body. Throws `bad_request`; the text of the body is never repeated. */
export function readJson(bytes: Buffer, read: JsonReader): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw notUtf8();
  const text = bytes.toString('utf8');
  const value = parsed(text, read);
  refuseHalfPairs(text, value);
  return value ?? NOTHING;
}

export function notUtf8(): ServiceError {
  return new ServiceError('bad_request', 'The body is not UTF-8.');
}

export function notJson(cause?: unknown): ServiceError {
  return new ServiceError('bad_request', 'The body is not valid JSON.', { cause });
}

function parsed(text: string, read: JsonReader): unknown {
  try {
    // A byte order mark is not JSON, though the reader would skip it.
    if (text.charCodeAt(0) === 0xfeff) throw new SyntaxError('byte order mark');
    return read(text);
  } catch (cause) {
    const reaches = cause instanceof Error && /forbidden prototype property/i.test(cause.message);
    if (!reaches) throw notJson(cause);
    throw new ServiceError('bad_request', 'The body has a key that would change a prototype.', { cause });
  }
}
