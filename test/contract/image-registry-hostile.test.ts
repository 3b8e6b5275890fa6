// Pulls from registries that answer as they should not: nothing of theirs gets into the store, nothing is said to others,
// and every pull ends.

import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConcurrencyLimit } from '../../src/domain/concurrency-limit.ts';
import type { ServiceError } from '../../src/domain/errors.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { type PullDeps, pullImage } from '../../src/images/registry/pull.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import { ociFiles, sha256 } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const CANARY = 'Zx9-canary-Zx9';
const noise = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * at * 31) >> 9));
const LAYER = tarArchive({ name: 'opt/app', content: noise });
const FILES = ociFiles({ layers: [LAYER], pack: (bytes) => bytes });
const blobs = new Map([...FILES].map(([name, bytes]) => [`sha256:${name.split('/').at(-1)}`, bytes]));
const LAYER_DIGEST = `sha256:${sha256(LAYER)}`;
const [{ digest: MANIFEST_DIGEST, mediaType: MANIFEST_TYPE }] = (
  JSON.parse(`${FILES.get('index.json')}`) as { manifests: [{ digest: string; mediaType: string }] }
).manifests;
const MANIFEST = JSON.parse(`${blobs.get(MANIFEST_DIGEST)}`) as Record<string, unknown> & {
  config: Record<string, unknown>;
  layers: Record<string, unknown>[];
};
const ODD_CONFIG = Buffer.from(
  JSON.stringify({
    os: 'linux',
    architecture: '\x1b[2J',
    rootfs: { type: 'layers', diff_ids: [LAYER_DIGEST] },
  }),
);
const ODD = { ...MANIFEST.config, digest: `sha256:${sha256(ODD_CONFIG)}`, size: ODD_CONFIG.length };
const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';

type Handler = (asked: IncomingMessage, response: ServerResponse) => void;
interface Scripted {
  host: string;
  asked: IncomingMessage[];
}

async function scripted(handler: Handler): Promise<Scripted> {
  const asked: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request);
    response.on('error', () => undefined);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const send = (response: ServerResponse, bytes: Buffer, type = 'application/octet-stream', status = 200) => {
  response.writeHead(status, { 'content-type': type, 'content-length': bytes.length });
  response.end(bytes);
};
const document = (response: ServerResponse, value: unknown, type = MANIFEST_TYPE) =>
  send(response, Buffer.from(JSON.stringify(value)), type);

/** Does what a registry does. */
const honest: Handler = (asked, response) => {
  const [, kind, name = ''] = /\/(manifests|blobs)\/(.+)$/.exec(asked.url ?? '') ?? [];
  if (kind === undefined) return send(response, Buffer.from('{}'));
  const bytes = blobs.get(kind === 'manifests' ? MANIFEST_DIGEST : name);
  if (!bytes) return void response.writeHead(404).end();
  const from = Number(/^bytes=(\d+)-$/.exec(asked.headers.range ?? '')?.[1] ?? 0);
  if (kind === 'manifests') return send(response, bytes, MANIFEST_TYPE);
  if (from > 0) response.setHeader('content-range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`);
  send(response, bytes.subarray(from), 'application/octet-stream', from > 0 ? 206 : 200);
};

const isLayer = ({ url }: IncomingMessage) => url?.endsWith(LAYER_DIGEST) === true;
const isManifest = ({ url }: IncomingMessage) => url?.includes('/manifests/') === true;
/** Honest but for what `handler` answers. */
const but =
  (is: (asked: IncomingMessage) => boolean, handler: Handler): Handler =>
  (asked, response) =>
    (is(asked) ? handler : honest)(asked, response);
const layerBut = (handler: Handler) => but(isLayer, handler);
const manifestBut = (handler: Handler) => but(isManifest, handler);
const redirectTo =
  (location: string, status = 307): Handler =>
  (_, response) =>
    void response.writeHead(status, { location }).end();

describe('a pull from a hostile registry', () => {
  let deps: PullDeps;
  beforeEach(() => {
    const folder = temporaryFolder();
    deps = {
      store: {
        agent: AGENT,
        // A document may take a minute, which is enough here for a busy machine, too.
        clock: quickClock(6),
        random: realRandom(),
        host: realHost(),
        root: join(folder, 'store'),
        limits: { maxBytes: 8 * MEBIBYTE, maxEntries: 1000 },
      },
      settings: { registries: [], mirrors: {}, insecureRegistries: [], requireDigest: false },
      dockerConfig: join(folder, 'config.json'),
      timeoutMs: 180_000,
      fetches: new ConcurrencyLimit(3),
      idleMs: 700,
    };
    writeFileSync(deps.dockerConfig, '{}');
  });
  const { signal } = new AbortController();
  const allow = (...hosts: string[]) => {
    deps = { ...deps, settings: { ...deps.settings, registries: hosts } };
  };
  const logIn = (host: string) =>
    writeFileSync(
      deps.dockerConfig,
      JSON.stringify({ auths: { [host]: { username: 'u', password: CANARY } } }),
    );
  const pull = (host: string, reference = ':v1') =>
    pullImage(deps, { image: `${host}/team/tool${reference}`, pull: 'always', for: 'all', signal });
  const failure = (host: string, reference?: string) =>
    pull(host, reference).then(
      () => undefined,
      (error: ServiceError) => error,
    );
  const isEmpty = () => {
    for (const name of ['tmp', 'layers', 'trees', 'images', 'names'])
      expect([
        name,
        existsSync(join(deps.store.root, name)) ? readdirSync(join(deps.store.root, name)) : [],
      ]).toEqual([name, []]);
  };
  const partBytes = () => {
    const folder = join(deps.store.root, 'blobs');
    const parts = existsSync(folder) ? readdirSync(folder) : [];
    return parts.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  };

  it('is possible as long as the registry is honest', async () => {
    const { host, asked } = await scripted(honest);
    allow(host);
    expect((await pull(host)).found.digest).toBe(MANIFEST_DIGEST);
    expect((await pull(host, `@${MANIFEST_DIGEST}`)).found.digest).toBe(MANIFEST_DIGEST);
    expect(asked.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  const broken = (text: RegExp) => ({ code: 'provider_error', message: expect.stringMatching(text) });
  const manifest = (change: object): Handler =>
    manifestBut((_, response) => document(response, { ...MANIFEST, ...change }));
  const endless: Handler = (_, response) => {
    response.writeHead(200, { 'content-type': MANIFEST_TYPE });
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, '{'))) {}
    };
    response.on('drain', more);
    more();
  };
  it.each<[string, Handler, object]>([
    [
      'sends other bytes of a layer',
      layerBut((_, r) => send(r, Buffer.alloc(LAYER.length))),
      broken(/^Layer 1 of the image differs from its digest\.$/),
    ],
    [
      'sends a longer layer',
      layerBut((_, r) => send(r, Buffer.concat([LAYER, LAYER]))),
      broken(/size in its manifest/),
    ],
    ['sends a shorter layer', layerBut((_, r) => send(r, LAYER.subarray(1))), broken(/size in its manifest/)],
    ['sends a layer without an end', layerBut(endless), broken(/more than it announced/)],
    ['sends a manifest without an end', manifestBut(endless), broken(/more than it announced/)],
    [
      'sends a compressed layer',
      layerBut((_, r) => r.writeHead(200, { 'content-encoding': 'gzip' }).end(LAYER)),
      broken(/encoding/),
    ],
    [
      'sends another range',
      layerBut((asked, r) => {
        if (asked.headers.range === undefined) {
          r.writeHead(200, { 'content-length': LAYER.length });
          r.write(LAYER.subarray(0, 5000), () => r.destroy());
        } else {
          r.writeHead(206, { 'content-range': `bytes 0-${LAYER.length - 1}/${LAYER.length}` }).end(LAYER);
        }
      }),
      broken(/another range/),
    ],
    [
      'names sizes that do not fit',
      manifest({ layers: [{ ...MANIFEST.layers[0], size: LAYER.length + 1 }] }),
      broken(/size in its manifest/),
    ],
    [
      'names a negative size',
      manifest({ layers: [{ ...MANIFEST.layers[0], size: -1 }] }),
      broken(/invalid size/),
    ],
    [
      'names a layer that is too large',
      manifest({ layers: [{ ...MANIFEST.layers[0], size: 9 * MEBIBYTE }] }),
      { code: 'resource_limit', status: 507 },
    ],
    [
      'names another config',
      manifest({ config: { ...MANIFEST.config, digest: LAYER_DIGEST, size: LAYER.length } }),
      broken(/JSON|config/),
    ],
    [
      'names a digest that leads elsewhere',
      manifest({ layers: [{ ...MANIFEST.layers[0], digest: 'sha256:../../etc/passwd' }] }),
      broken(/SHA-256/),
    ],
    [
      'names a digest by SHA-512',
      manifest({ layers: [{ ...MANIFEST.layers[0], digest: `sha512:${'0'.repeat(128)}` }] }),
      broken(/SHA-256/),
    ],
    [
      'names more layers than the config',
      manifest({ layers: [MANIFEST.layers[0], MANIFEST.layers[0]] }),
      broken(/different layers/),
    ],
    [
      'names too many layers',
      manifest({ layers: Array.from({ length: 129 }, () => MANIFEST.layers[0]) }),
      broken(/more than 128/),
    ],
    [
      'names a layer that is kept elsewhere',
      manifest({
        layers: [
          {
            ...MANIFEST.layers[0],
            mediaType: 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip',
            urls: ['http://127.0.0.1/'],
          },
        ],
      }),
      broken(/keeps elsewhere/),
    ],
    [
      'sends a chart',
      manifest({ config: { ...MANIFEST.config, mediaType: 'application/vnd.cncf.helm.config.v1+json' } }),
      broken(/not a container image/),
    ],
    [
      'writes on the terminal by its platform',
      (asked, r) =>
        asked.url?.endsWith(sha256(ODD_CONFIG)) ? send(r, ODD_CONFIG) : manifest({ config: ODD })(asked, r),
      { code: 'not_found', message: expect.stringMatching(/^[ -~]*$/) },
    ],
    ['sends an index that is a manifest', manifest({ manifests: [] }), broken(/kind|index and a manifest/)],
    [
      'lies about the kind',
      manifestBut((_, r) => document(r, MANIFEST, INDEX_TYPE)),
      broken(/not of the kind/),
    ],
    ['has two kinds for one document', manifest({ mediaType: INDEX_TYPE }), broken(/not of the kind/)],
    [
      'sends a manifest of schema 1',
      manifestBut((_, r) => document(r, { schemaVersion: 1 })),
      broken(/schema 1/),
    ],
    [
      'sends what is not JSON',
      manifestBut((_, r) => send(r, Buffer.from('<html>'), MANIFEST_TYPE)),
      broken(/JSON/),
    ],
    [
      'sends another manifest for a digest in an index',
      manifestBut((asked, r) =>
        asked.url?.endsWith(':v1')
          ? send(r, Buffer.from('x'), 'x')
          : asked.url?.endsWith('/v1')
            ? document(
                r,
                {
                  schemaVersion: 2,
                  manifests: [
                    {
                      mediaType: MANIFEST_TYPE,
                      digest: MANIFEST_DIGEST,
                      size: 4000,
                      platform: {
                        os: 'linux',
                        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
                      },
                    },
                  ],
                },
                INDEX_TYPE,
              )
            : document(r, { ...MANIFEST, annotations: {} }),
      ),
      broken(/differs from its digest/),
    ],
    [
      'has an index in an index',
      manifestBut((asked, r) => {
        const inner = Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [] }));
        if (asked.url?.endsWith('/v1'))
          document(
            r,
            {
              schemaVersion: 2,
              manifests: [
                {
                  mediaType: INDEX_TYPE,
                  digest: `sha256:${sha256(inner)}`,
                  size: inner.length,
                  platform: { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch },
                },
              ],
            },
            INDEX_TYPE,
          );
        else send(r, inner, INDEX_TYPE);
      }),
      broken(/another index/),
    ],
    ['redirects manifests', manifestBut(redirectTo('/elsewhere')), broken(/redirect/)],
    [
      'redirects in a circle',
      (asked, r) =>
        isLayer(asked) || asked.url?.startsWith('/circle')
          ? redirectTo('/circle')(asked, r)
          : honest(asked, r),
      broken(/redirects too often/),
    ],
    ['redirects to a file', layerBut(redirectTo('file:///etc/passwd')), broken(/invalid URL/)],
    ['redirects with a password', layerBut(redirectTo('https://u:p@127.0.0.1/')), broken(/invalid URL/)],
    ['redirects nowhere', layerBut((_, r) => void r.writeHead(302).end()), broken(/invalid URL/)],
    [
      'redirects to a metadata service',
      layerBut(redirectTo('http://169.254.169.254/latest')),
      { code: 'forbidden', message: expect.stringMatching(/metadata/) },
    ],
    [
      'redirects to another port of this machine',
      layerBut(redirectTo('http://127.0.0.1:9/x')),
      { code: 'forbidden', message: expect.stringMatching(/loopback/) },
    ],
    [
      'does not have the image',
      manifestBut((_, r) => void r.writeHead(404).end(CANARY)),
      { code: 'not_found' },
    ],
    [
      'is down',
      manifestBut((_, r) => void r.writeHead(503).end()),
      { code: 'unavailable', retryAfterMs: 10_000 },
    ],
    [
      'limits pulls',
      manifestBut((_, r) => void r.writeHead(429, { 'retry-after': '77' }).end()),
      { code: 'resource_limit', retryAfterMs: 77_000, status: 429 },
    ],
    [
      'sends headers without an end',
      manifestBut((_, r) => void r.writeHead(200, { x: 'x'.repeat(40_000) }).end()),
      broken(/headers that are too large/),
    ],
    ['is not a registry', (_, r) => void r.writeHead(404).end(), broken(/status 404/)],
    [
      'refuses with a challenge that nobody knows',
      (_, r) => void r.writeHead(401, { 'www-authenticate': 'Negotiate x' }).end(),
      broken(/kind of authentication/),
    ],
    [
      'names a token service without https',
      (_, r) => void r.writeHead(401, { 'www-authenticate': 'Bearer realm="http://127.0.0.2/token"' }).end(),
      broken(/without https/),
    ],
    [
      'names a token service in the metadata service',
      (_, r) =>
        void r.writeHead(401, { 'www-authenticate': 'Bearer realm="https://169.254.169.254/token"' }).end(),
      { code: 'forbidden', message: expect.stringMatching(/metadata/) },
    ],
  ])('fails when it %s', async (_, handler, expected) => {
    const { host } = await scripted(handler);
    allow(host);
    logIn(host);
    const error = await failure(host);
    expect(error).toMatchObject(expected);
    expect(error?.remedy).toMatch(/^[A-Z].*\.$/s);
    expect([error?.message, error?.remedy, String(error?.cause), JSON.stringify(error)].join()).not.toContain(
      'anary',
    );
    isEmpty();
    expect(partBytes()).toBeLessThanOrEqual(LAYER.length);
  });

  it('ends when bodies stop to flow, and gives up a layer after five tries', async () => {
    const { host, asked } = await scripted(
      layerBut((_, response) => {
        response.writeHead(200, { 'content-length': LAYER.length });
        response.write(LAYER.subarray(0, 10));
      }),
    );
    allow(host);
    expect(await failure(host)).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('in time'),
    });
    expect(asked.filter(isLayer)).toHaveLength(5);
    isEmpty();
  });

  it('ends a slow drip at the deadline of the pull', async () => {
    const { host } = await scripted(
      layerBut((_, response) => {
        response.writeHead(200, { 'content-length': LAYER.length });
        const drip = setInterval(() => response.write('x'), 50);
        response.on('close', () => clearInterval(drip));
      }),
    );
    allow(host);
    deps = { ...deps, timeoutMs: 6000 };
    expect(await failure(host)).toMatchObject({
      code: 'unavailable',
      message: 'The image was not pulled in time.',
    });
    isEmpty();
  });

  it('continues a layer that is cut at many bytes, and fetches few of them twice', async () => {
    let sent = 0;
    const { host, asked } = await scripted(
      layerBut((asked, response) => {
        const from = Number(/\d+/.exec(asked.headers.range ?? '')?.[0] ?? 0);
        const end = Math.min(LAYER.length, from + 90_000);
        sent += end - from;
        const range = { 'content-range': `bytes ${from}-${LAYER.length - 1}/${LAYER.length}` };
        response.writeHead(from > 0 ? 206 : 200, {
          'content-length': LAYER.length - from,
          ...(from > 0 && range),
        });
        response.write(LAYER.subarray(from, end), () => end < LAYER.length && response.socket?.end());
        if (end === LAYER.length) response.end();
      }),
    );
    allow(host);
    expect((await pull(host)).fetchedBytes).toBe(LAYER.length);
    expect(asked.filter(isLayer).length).toBeGreaterThan(2);
    expect(sent).toBeLessThan(2 * LAYER.length);
  });

  it('starts a layer again where the registry knows no ranges', async () => {
    let tries = 0;
    const { host } = await scripted(
      layerBut((_, response) => {
        response.writeHead(200, { 'content-length': LAYER.length });
        if (++tries > 2) response.end(LAYER);
        else response.write(LAYER.subarray(0, 90_000), () => response.socket?.end());
      }),
    );
    allow(host);
    expect((await pull(host)).found.digest).toBe(MANIFEST_DIGEST);
  });

  it('sends credentials to the registry alone, not where it redirects to', async () => {
    const other = await scripted(honest);
    const { host, asked } = await scripted((request, response) => {
      if (request.headers.authorization === undefined)
        response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      else if (isLayer(request)) redirectTo(`http://${other.host}${request.url}`)(request, response);
      else honest(request, response);
    });
    allow(host, other.host);
    logIn(host);
    await pull(host);
    expect(asked.some(({ headers }) => headers.authorization?.startsWith('Basic '))).toBe(true);
    expect(other.asked.length).toBeGreaterThan(0);
    expect(other.asked.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  it('answers no challenge of a host that it was redirected to', async () => {
    const other = await scripted(
      (_, r) => void r.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end(),
    );
    const { host } = await scripted(
      layerBut((asked, r) => redirectTo(`http://${other.host}${asked.url}`)(asked, r)),
    );
    allow(host, other.host);
    logIn(host);
    expect(await failure(host)).toMatchObject({ code: 'forbidden' });
    expect(other.asked).toHaveLength(1);
  });

  it('gives up after a token that the registry does not accept', async () => {
    const { host, asked } = await scripted((request, response) => {
      if (request.url?.startsWith('/token')) return send(response, Buffer.from('{"token":"abc"}'));
      response
        .writeHead(401, { 'www-authenticate': `Bearer realm="http://${request.headers.host}/token"` })
        .end();
    });
    allow(host);
    logIn(host);
    expect(await failure(host)).toMatchObject({ code: 'forbidden' });
    expect(asked.length).toBeLessThan(8);
  });

  it.each([
    ['an image of a registry that is not allowed', 'quay.io', ['ghcr.io'], /does not pull quay\.io/],
    ['a registry on this machine that * alone allows', '127.0.0.1:9', ['*'], /loopback/],
    ['a registry in a private network that * alone allows', '10.1.2.3:9', ['*'], /private/],
    ['a metadata service', '169.254.169.254:80', ['169.254.169.254:80'], /metadata/],
  ])('refuses %s', async (_, host, registries, message) => {
    allow(...registries);
    expect(await failure(host)).toMatchObject({ code: 'forbidden', message: expect.stringMatching(message) });
  });

  it('refuses a name that leads to this machine', async () => {
    const lookup = ((_name: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as NonNullable<PullDeps['lookup']>;
    allow('registry.example');
    deps = { ...deps, lookup };
    expect(await failure('registry.example')).toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/loopback/),
    });
  });
});
