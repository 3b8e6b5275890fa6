// A guest's answer, looked at before any of it is passed on: a hostile one must not confuse the visitor, a proxy in front of
// us, or the next request.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import { endToEnd, valuesOf } from '../../domain/header-lists.ts';
import { FAILED_HEADER } from '../../domain/preview.ts';
import { isGuestCookie } from './cookies.ts';

/** Orders to a web server in front: nginx would serve files of its own for them. */
const ORDERS = /^x-(?:accel-|sendfile|lighttpd-|reproxy-)/;

/** A head with more of them is refused. */
const MOST_HEADERS = 1000;

/** Why an answer has no one meaning, when it has none. */
export function doubtOf(answer: IncomingMessage): ServiceError | undefined {
  const { statusCode = 0, httpVersionMajor, rawHeaders } = answer;
  if (rawHeaders.length > 2 * MOST_HEADERS) return badAnswer();
  if (httpVersionMajor !== 1 || statusCode < 200 || statusCode > 599) return badAnswer();
  const codings = valuesOf(rawHeaders, 'transfer-encoding');
  const isPlain =
    codings.length === 0 || (codings.length === 1 && codings[0]?.trim().toLowerCase() === 'chunked');
  return isPlain ? undefined : badAnswer();
}

/** A flat list for the visitor. `name` is the preview's, without a port. */
export function visitorHeaders(answer: IncomingMessage, name: string): string[] {
  const head: string[] = [];
  for (const { name: header, plain, value } of endToEnd(answer.rawHeaders)) {
    if (plain === 'x-request-id' || plain === FAILED_HEADER || ORDERS.test(plain)) continue;
    // Such an answer has no body, and a length would make the visitor wait for one (RFC 9110 8.6).
    if (plain === 'content-length' && answer.statusCode === 204) continue;
    if (plain === 'set-cookie' && !isGuestCookie(value, name)) continue;
    head.push(header, value);
  }
  return head;
}

export function badAnswer(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The program in the sandbox did not return a valid HTTP response.', {
    status: 502,
    remedy: 'Check the program that listens on this port.',
    ...(cause !== undefined && { cause }),
  });
}
