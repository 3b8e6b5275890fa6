// Requests that Node answers by itself, without a body or not at all, unless somebody listens.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { Ids } from '../domain/ports.ts';
import { framingFailure } from './body/body.ts';
import { headerCountFailure } from './headers/header-count.ts';
import { answerAndClose } from './raw-answer.ts';

/** Answers CONNECT, which names no path of ours; unknown expectations pass the pipeline, which refuses them. */
export function answerConnectAndExpect(server: Server, ids: Ids): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node has taken its own listener off: a reset would end the process.
    socket.on('error', () => socket.destroy());
    const error = new ServiceError('method_not_allowed', 'This server is not a proxy.');
    answerAndClose(socket, error, ids.uuid());
  });
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    server.emit('request', request, response);
  });
}

/** Why nothing more of this connection may be taken for a request; undefined: it is sound. */
export function connectionFailure(request: IncomingMessage): ServiceError | undefined {
  return headerCountFailure(request) ?? framingFailure(request.headers) ?? expectationFailure(request);
}

/** For an expectation that Node does not meet by itself. RFC 9110 10.1.1: HTTP/1.0 knows none. */
function expectationFailure({ headers, httpVersion }: IncomingMessage): ServiceError | undefined {
  const { expect } = headers;
  if (expect === undefined || httpVersion === '1.0' || expect.toLowerCase() === '100-continue')
    return undefined;
  return new ServiceError('bad_request', 'The server cannot meet the expectation in the Expect header.', {
    status: 417,
  });
}
