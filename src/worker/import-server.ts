// `POST /images/import`: the control plane sends an archive for the image store of this worker. The answer is NDJSON and begins
// once the archive is being read: progress, signs of life, and at last the images or the failure.
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../domain/ports.ts';
import { lingerOver } from '../http/body/slow-body.ts';
import { disconnectSignal } from '../http/client-disconnect.ts';
import type { ImageProgress } from '../schema/image-calls.ts';
import type { WorkerImportLine } from '../schema/worker-images.ts';
import { imageFailure, imagesOf } from './worker-images-rpc.ts';
import type { WorkerParts } from './worker-parts.ts';

export const IMPORT_PATH = '/images/import';
/** How often a line comes at least. */
const SIGN_MS = 10_000;

export interface ImportServerDeps {
  parts: WorkerParts;
  /** Throws for a caller that is not the control plane. */
  authorize(request: FastifyRequest): void;
  watchPace(request: FastifyRequest, reply: FastifyReply): void;
}

export function acceptImports(app: FastifyInstance, { parts, authorize, watchPace }: ImportServerDeps): void {
  app.route({
    method: 'POST',
    url: IMPORT_PATH,
    onRequest: (request, _reply, done) => {
      try {
        authorize(request);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
    preParsing: async (request, reply) => watchPace(request, reply),
    handler: (request, reply) => importFor(parts, request, reply),
  });
}

async function importFor(parts: WorkerParts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { store } = imagesOf(parts);
  const query = new URL(request.raw.url ?? '', 'http://worker').searchParams;
  const archive = request.body instanceof Readable ? request.body : Readable.from([]);
  const response = reply.raw;
  reply.hijack();
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'X-Request-ID': request.id });
  response.flushHeaders();
  const lines = linesTo(response, parts.clock);
  const order = {
    name: query.get('name') || undefined,
    private_images: query.get('private_images') === 'true',
  };
  const signal = disconnectSignal(response);
  try {
    const onProgress = (progress: ImageProgress) => lines.write({ progress });
    lines.end({ images: await store.import(archive, order, { signal, onProgress }) });
  } catch (error) {
    if (!signal.aborted) lines.end({ failed: imageFailure(error) });
    lingerOver(request.raw, parts.clock);
  }
}

/** Progress that its reader does not take is left out. */
function linesTo(response: ServerResponse, clock: Clock) {
  const text = (line: WorkerImportLine) => `${JSON.stringify(line)}\n`;
  let timer = clock.after(SIGN_MS, sign);
  function sign(): void {
    if (response.writableLength === 0) response.write('\n');
    timer = clock.after(SIGN_MS, sign);
  }
  response.once('close', () => timer.cancel());
  return {
    write: (line: WorkerImportLine) => {
      if (response.writableLength === 0) response.write(text(line));
    },
    end: (line: WorkerImportLine) => {
      timer.cancel();
      response.end(text(line));
    },
  };
}
