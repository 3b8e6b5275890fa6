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

interface AnsweringSocket {
  /** Node's own mark of the response in progress; a second one on the same bytes would be the worst outcome. */
  _httpMessage?: ServerResponse | null;
}

/**
 * The failure that Node's parser reports for `socket`. A request whose headers stayed incomplete has done nothing, so a
 * client may repeat it (RFC 9110, 15.5.9); unless an earlier request is in progress, which would take the answer for its own.
 */
export function parserFailure(error: NodeJS.ErrnoException, socket: Duplex): ServiceError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new ServiceError('bad_request', 'The request headers are too large.', { status: 431 });
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const isAlone = !(socket as AnsweringSocket)._httpMessage;
    return new ServiceError('timeout', 'The request arrived too slowly.', {
      ...(isAlone && { retryAfterMs: 1000, details: { nothing_done: true } }),
    });
  }
  return new ServiceError('bad_request', 'The request is not valid HTTP.');
}

/** Writes one response unless one has started on this socket, then closes it. */
export function answerAndClose(socket: Duplex, error: ServiceError, requestId: string): void {
  const { _httpMessage: response } = socket as AnsweringSocket;
  if (!socket.writable || response?.headersSent) socket.destroy();
  else socket.end(render(errorAnswer(error, requestId)), () => socket.destroy());
}

function render({ status, headers, body }: ErrorAnswer): string {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    `X-Request-ID: ${body.request_id}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
