// Serves the console: its page below /console/ and at /docs, and its files. Nobody is asked for a key here, since nothing here
// is secret; the page calls the API like any other client.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../../domain/errors.ts';
import type { Ids } from '../../domain/ports.ts';
import { type Assets, openAssets } from './assets.ts';
import { baseOf, pageOf } from './page.ts';
import { pageHeaders } from './policy.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set for what belongs to the console: it is counted and logged by this name. */
    page: string | undefined;
  }
}

export interface ConsoleDeps {
  /** The folder with the built files. */
  folder: string;
  ids: Pick<Ids, 'uuid'>;
  /** What a path without a resource is answered with. */
  unrouted(url: string): ServiceError;
}

/** Registers nothing where the package was built without the console. */
export function registerConsole(app: FastifyInstance, { folder, ids, unrouted }: ConsoleDeps): void {
  const assets = openAssets(folder);
  if (!assets) return;
  const get = (url: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown) =>
    app.route({
      method: ['GET', 'HEAD'],
      url,
      onRequest: (request, _reply, done) => {
        request.page = 'console';
        done();
      },
      handler,
    });
  const forBrowsers = (answer: (path: string, reply: FastifyReply) => unknown) => {
    return (request: FastifyRequest, reply: FastifyReply) => {
      const [path = ''] = request.url.split('?', 1);
      if (!request.headers.accept?.includes('text/html')) throw unrouted(request.url);
      return answer(path, reply);
    };
  };
  const page = forBrowsers((path, reply) => sendPage(assets, path, ids.uuid(), reply));
  const redirect = (status: number) =>
    forBrowsers((_path, reply) => reply.code(status).header('Location', 'console/').send());
  get('/', redirect(307));
  get('/console', redirect(308));
  get('/console/*', page);
  get('/docs', page);
  get('/console/assets/:name', (request, reply) => {
    const { name } = request.params as { name: string };
    return sendAsset(assets, name, request, reply) ?? Promise.reject(unrouted(request.url));
  });
}

function sendPage({ manifest }: Assets, path: string, nonce: string, reply: FastifyReply): FastifyReply {
  return reply.headers(pageHeaders(nonce)).send(pageOf(manifest, baseOf(path), nonce));
}

/** Undefined for a name that the manifest lacks. What is kept is sent at once, without a promise. */
function sendAsset(
  assets: Assets,
  name: string,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> | undefined {
  const asset = assets.find(name, String(headers['accept-encoding'] ?? ''));
  if (!asset) return undefined;
  reply.headers(asset.headers);
  if (isAmong(asset.etag, headers['if-none-match'])) return reply.code(304).send();
  if (asset.encoding) reply.header('Content-Encoding', asset.encoding);
  const bytes = asset.read();
  return bytes instanceof Promise ? bytes.then((read) => reply.send(read)) : reply.send(bytes);
}

/** `header`: a list of tags; a proxy may have made them weak, which is the same here (RFC 9110 13.1.2). */
const isAmong = (etag: string, header = '') =>
  header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
