// Requests that Node answers by itself, without a body or not at all, unless somebody listens.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { Ids } from '../domain/ports.ts';
import { answerAndClose } from './raw-answer.ts';

/** Gives CONNECT and unknown expectations an answer in our shape and closes the connection. */
export function refuseOddRequests(server: Server, ids: Ids): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    const error = new ServiceError('method_not_allowed', 'This server is no proxy.');
    answerAndClose(socket, error, ids.uuid());
  });
  server.on('checkExpectation', (request: IncomingMessage, _response: ServerResponse) => {
    const error = new ServiceError('bad_request', 'The expectation in the Expect header cannot be met.', {
      status: 417,
    });
    answerAndClose(request.socket, error, ids.uuid());
  });
}
