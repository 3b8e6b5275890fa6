// Responses written on a bare socket: to bytes that were not an HTTP request, and to a body that arrives too slowly.
// The connection ends with them, so nothing that follows on it is ever taken for a request.
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { type ErrorAnswer, errorAnswer } from './errors.ts';

const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** What Node's parser complains of. */
export function parserFailure(error: NodeJS.ErrnoException): ServiceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('bad_request', 'The request headers are too large.', { status: 431 });
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ServiceError('timeout', 'The request arrived too slowly.');
  return new ServiceError('bad_request', 'The request is not valid HTTP.');
}

/** Writes one response unless one has started on this socket, then closes it. */
export function answerAndClose(socket: Duplex, error: ServiceError, requestId: string): void {
  // Node's own mark of the response in progress; a second one on the same bytes would be the worst outcome.
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse | null };
  if (!socket.writable || response?.headersSent) socket.destroy();
  else socket.end(render(errorAnswer(error, requestId)), () => socket.destroy());
}

function render({ status, body }: ErrorAnswer): string {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-ID: ${body.request_id}`,
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
