// Debian's registry of images, on a free port of loopback, and a client that puts images there. With TLS, and with basic
// authentication or tokens where a test asks.
import { spawn } from 'node:child_process';
import { createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Certificates, certificates } from '../certificates.ts';
import { freePort } from '../free-port.ts';
import { temporaryFolder } from '../temporary.ts';
import { until } from '../until.ts';
import { debianProgram } from './debian-program.ts';
import { sha256 } from './image-archives.ts';

export const REGISTRY_USER = 'svc-test';
/** Nothing prints it: tests search outputs for it. */
export const REGISTRY_PASSWORD = 'cuckoo:p@ss/w%rd';
/** Of that, by bcrypt. */
const HASH = '$2b$04$abcdefghijklmnopqrstuuGKXUd2zKDuzGddt8VvE5kKWcSVt162i';

export interface RealRegistry {
  /** 127.0.0.1 with its port. */
  host: string;
  /** PEM text of its authority, and the file. */
  ca: string;
  caFile: string;
  /** A config.json with its credentials. */
  dockerConfig: string;
  /** The token service, where it has one. */
  tokenHost: string;
  /** Lines of its log, also of all requests that have been answered. */
  log(): Promise<string[]>;
  /** Puts an image there, and returns the digest that its tag leads to. */
  put(path: string, image: RegistryImage, tag: string): Promise<string>;
}

export interface RegistryImage {
  /** As in an OCI layout, by path in it (test/support/hosts/image-archives.ts). */
  files: Map<string, Buffer>;
}

export type RegistryAuth = 'none' | 'basic' | 'token';

/** It ends with the test. */
export async function realRegistry(auth: RegistryAuth = 'basic'): Promise<RealRegistry> {
  const folder = temporaryFolder();
  const certs = certificates(folder);
  const port = await freePort();
  const service = auth === 'token' ? await tokenService(certs) : undefined;
  const settings = settingsOf({ folder, port, certs, auth, realm: service?.realm ?? '' });
  writeFileSync(join(folder, 'config.yml'), JSON.stringify(settings));
  writeFileSync(join(folder, 'htpasswd'), `${REGISTRY_USER}:${HASH}\n`);
  const program = debianProgram('docker-registry') ?? 'docker-registry';
  const child = spawn(program, ['serve', join(folder, 'config.yml')], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => lines.push(...text.split('\n')));
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
  });
  const host = `127.0.0.1:${port}`;
  const ca = readFileSync(certs.ca, 'utf8');
  const credentials = Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString('base64');
  const dockerConfig = join(folder, 'config.json');
  writeFileSync(dockerConfig, JSON.stringify({ auths: { [host]: { auth: credentials } } }), { mode: 0o600 });
  const authorization = (path: string) => {
    if (auth === 'none') return undefined;
    return service ? `Bearer ${service.token(path, ['pull', 'push'])}` : `Basic ${credentials}`;
  };
  const call = (method: string, url: string, path: string, type: string, body?: Buffer) => {
    const header = authorization(path);
    const headers = { 'content-type': type, ...(header !== undefined && { authorization: header }) };
    return answered(new URL(url, `https://${host}`), { method, ca, headers }, body);
  };
  await until('the registry answers', () =>
    call('GET', '/v2/', 'x', 'text/plain').then(
      ({ status }) => status === 200 || status === 401,
      () => false,
    ),
  );
  const put = async (path: string, { files }: RegistryImage, tag: string) => {
    const index = JSON.parse(`${files.get('index.json')}`) as Index;
    const descriptors = new Map<string, string>();
    for (const entry of index.manifests) descriptors.set(entry.digest, entry.mediaType);
    for (const [name, bytes] of files) {
      if (!name.startsWith('blobs/') || descriptors.has(`sha256:${sha256(bytes)}`)) continue;
      const { headers } = await call('POST', `/v2/${path}/blobs/uploads/`, path, 'application/octet-stream');
      const target = new URL(headers.location ?? '', `https://${host}`);
      target.searchParams.set('digest', `sha256:${sha256(bytes)}`);
      await call('PUT', target.href, path, 'application/octet-stream', bytes);
    }
    for (const [digest, type] of descriptors) {
      const bytes = files.get(`blobs/sha256/${digest.slice(7)}`) as Buffer;
      await call('PUT', `/v2/${path}/manifests/${digest}`, path, type, bytes);
    }
    const [only] = index.manifests;
    const isOne = index.manifests.length === 1 && only;
    const top = isOne
      ? (files.get(`blobs/sha256/${only.digest.slice(7)}`) as Buffer)
      : (files.get('index.json') as Buffer);
    const type = isOne ? only.mediaType : 'application/vnd.oci.image.index.v1+json';
    const { status } = await call('PUT', `/v2/${path}/manifests/${tag}`, path, type, top);
    if (status !== 201) throw new Error(`the registry refused ${path}:${tag} with ${status}`);
    return `sha256:${sha256(top)}`;
  };
  const log = async () => {
    const mark = `/v2/mark-${randomUUID()}`;
    await call('GET', mark, 'x', 'text/plain');
    await until('the log is complete', () => lines.some((line) => line.includes(`"GET ${mark}`)));
    return [...lines];
  };
  const tokenHost = service ? new URL(service.realm).host : '';
  return { host, ca, caFile: certs.ca, dockerConfig, tokenHost, log, put };
}

interface Index {
  manifests: { digest: string; mediaType: string }[];
}

interface Settings {
  folder: string;
  port: number;
  certs: Certificates;
  auth: RegistryAuth;
  realm: string;
}

function settingsOf({ folder, port, certs, auth, realm }: Settings) {
  const root = join(folder, 'registry');
  mkdirSync(root);
  return {
    version: '0.1',
    log: { level: 'info', accesslog: { disabled: false } },
    storage: { filesystem: { rootdirectory: root } },
    http: {
      addr: `127.0.0.1:${port}`,
      relativeurls: true,
      tls: { certificate: certs.server.cert, key: certs.server.key },
    },
    ...(auth === 'basic' && { auth: { htpasswd: { realm: 'test', path: join(folder, 'htpasswd') } } }),
    ...(auth === 'token' && {
      auth: { token: { realm, service: SERVICE, issuer: ISSUER, rootcertbundle: certs.ca } },
    }),
  };
}

const SERVICE = 'registry-of-tests';
const ISSUER = 'issuer-of-tests';

interface TokenService {
  realm: string;
  token(path: string, actions: readonly string[]): string;
}

/** Gives tokens to who has the password. Distribution, "token authentication specification" */
async function tokenService(certs: Certificates): Promise<TokenService> {
  const token = (path: string, actions: readonly string[]) => webToken(certs, path, actions);
  const server = createServer(
    { cert: readFileSync(certs.server.cert), key: readFileSync(certs.server.key) },
    (asked, response) => {
      const url = new URL(asked.url ?? '/', 'https://x');
      const [, path = '', actions = ''] = (url.searchParams.get('scope') ?? '').split(':');
      const expected = `Basic ${Buffer.from(`${REGISTRY_USER}:${REGISTRY_PASSWORD}`).toString('base64')}`;
      const isKnown = asked.headers.authorization === expected && url.searchParams.get('service') === SERVICE;
      response.writeHead(isKnown ? 200 : 401);
      response.end(
        JSON.stringify(isKnown ? { token: token(path, actions.split(',')), expires_in: 300 } : {}),
      );
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { realm: `https://127.0.0.1:${(server.address() as AddressInfo).port}/token`, token };
}

function webToken({ server }: Certificates, path: string, actions: readonly string[]): string {
  const der = new X509Certificate(readFileSync(server.cert)).raw.toString('base64');
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: ISSUER, sub: REGISTRY_USER, aud: SERVICE, jti: randomUUID() },
    ...{ exp: now + 300, nbf: now - 60, iat: now },
    access: [{ type: 'repository', name: path, actions }],
  };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ typ: 'JWT', alg: 'ES256', x5c: [der] })}.${part(claims)}`;
  const key = createPrivateKey(readFileSync(server.key));
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

interface Call {
  method: string;
  ca: string;
  headers: Record<string, string>;
}

async function answered(url: URL, { method, ca, headers }: Call, body: Buffer = Buffer.alloc(0)) {
  return new Promise<{ status: number; headers: Record<string, string | undefined> }>((resolve, reject) => {
    const length = method === 'GET' ? {} : { 'content-length': body.length };
    const sent = request(
      url,
      { method, ca, headers: { ...headers, ...length }, agent: false },
      (response) => {
        void buffer(response).then(
          () =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers as Record<string, string | undefined>,
            }),
          reject,
        );
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}
