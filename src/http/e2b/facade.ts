// The interface of E2B on this server's own address (docs/e2b.md): its control API at the root beside ours, and the data plane of
// sandboxes, which is named by header, by token or by a signed link.
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../domain/ports.ts';
import { logFailure, toServiceError } from '../errors.ts';
import { controlFailure, dataFailure, sendAnswer } from './answers.ts';
import { serveControl } from './control-server.ts';
import { serveData } from './data-server.ts';
import type { FacadeDeps } from './facade-deps.ts';

/** Registers all routes of it. */
export function registerFacade(app: FastifyInstance, deps: FacadeDeps): void {
  app.register(async (plane) => {
    takeRawBodies(plane);
    answerFailures(plane, deps.logger, controlFailure);
    serveControl(plane, deps);
  });
  app.register(async (plane) => {
    takeRawBodies(plane);
    answerFailures(plane, deps.logger, dataFailure);
    serveData(plane, deps);
  });
}

/** Handlers read the body themselves, whatever its type. */
function takeRawBodies(plane: FastifyInstance): void {
  plane.removeAllContentTypeParsers();
  plane.addContentTypeParser('*', (_request, _payload, done) => done(null));
}

function answerFailures(plane: FastifyInstance, logger: Logger, answerTo: typeof controlFailure): void {
  plane.setErrorHandler((error, request, reply) => {
    const failure = toServiceError(error);
    logFailure(logger, failure, request.id);
    return sendAnswer(reply, answerTo(failure, request.id));
  });
}
