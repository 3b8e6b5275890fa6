// A service on another host, and a gate whose programs get a credential for it: by the plain endpoint, and in TLS that is ended.
import { once } from 'node:events';
import { Agent, type IncomingMessage, request, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { expect, onTestFinished } from 'vitest';
import { egressCredential } from '../../../src/domain/egress/credential.ts';
import { Authority } from '../../../src/egress/authority.ts';
import { createAuthority, createLeaf, leafKey } from '../../../src/egress/certificates.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import type { CredentialFacts } from '../../../src/schema/credential.ts';
import { egressSide, type SideOptions, textUntil } from './egress-side.ts';

export const PUBLIC = '93.184.216.34';
export const HOST = 'api.example.com';
export const SECRET = 'sk-0123456789abcdef';
const terms = { random: realRandom(), now: Date.now(), lifeMs: 3_600_000 };
export const world = { name: 'World', ...createAuthority('World', terms) };
const key = leafKey();
export const instance = new Authority(createAuthority('svc test', terms), realClock(), realRandom());

export interface Seen {
  method?: string | undefined;
  url?: string | undefined;
  headers: string[];
}

/** What a service says of its connection. */
const ENDINGS: Record<string, Record<string, string>> = {
  '/last': { connection: 'close' },
  '/soon': { connection: 'keep-alive', 'keep-alive': 'timeout=1' },
  '/login': { 'www-authenticate': 'NTLM' },
};

/**
 * A service that notes requests; `/echo` answers with the header, `/away` redirects, `/cut` ends a connection that has served
 * before.
 */
async function service(): Promise<{ port: number; seen: Seen[]; connections: () => number; drop(): void }> {
  const seen: Seen[] = [];
  const served = new WeakSet<Duplex>();
  let connections = 0;
  const cert = createLeaf(HOST, world, key, terms);
  const server = createServer({ key, cert }, (asked, response) => {
    seen.push({ method: asked.method, url: asked.url, headers: asked.rawHeaders });
    if (asked.url === '/away') response.statusCode = 302;
    response.setHeader('location', 'https://other.example.com/');
    if (asked.url === '/cut' && served.has(asked.socket)) return void asked.socket.destroy();
    served.add(asked.socket);
    for (const [name, value] of Object.entries(ENDINGS[asked.url ?? ''] ?? {}))
      response.setHeader(name, value);
    response.setHeader('alt-svc', 'h3=":443"');
    response.end(asked.url === '/echo' ? String(asked.headers.authorization) : 'ok');
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  server.on('upgrade', (asked: IncomingMessage, socket: Duplex) => {
    seen.push({ method: asked.method, url: asked.url, headers: asked.rawHeaders });
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.pipe(socket);
  });
  const port = await listening(server);
  return { port, seen, connections: () => connections, drop: () => server.closeAllConnections() };
}

export async function listening(server: Server | ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

export async function side(facts: Partial<CredentialFacts> = {}, options: SideOptions = {}) {
  const target = await service();
  const credential = egressCredential(
    'openai',
    { hosts: [HOST], format: 'Bearer {value}', ...facts },
    SECRET,
  );
  const made = await egressSide({
    rules: { allow: [HOST, 'other.example.com'] },
    names: { [HOST]: [PUBLIC], 'other.example.com': ['93.184.216.35'] },
    targets: { [`${PUBLIC}:443`]: target.port },
    deps: { roots: [world.certificate] },
    ...options,
    policy: { credentials: [credential], authority: instance, ...options.policy },
  });
  return { ...made, target, policy: { credentials: [credential] } };
}

export type Side = Awaited<ReturnType<typeof side>>;

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  body: string;
}

const AGENTS = new WeakMap<Duplex, Agent>();

/** One request over `socket`, which may serve others. */
export async function ask(socket: Duplex, options: object, body?: string): Promise<Answer> {
  const agent = AGENTS.get(socket) ?? new Agent({ keepAlive: true, maxSockets: 1 });
  AGENTS.set(socket, agent);
  agent.createConnection = () => socket;
  const sent = request({ agent, setHost: false, ...options });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() };
}

export const toEndpoint = (path: string, more: object = {}) => ({
  path: `http://openai.svc.internal${path}`,
  headers: ['Host', 'openai.svc.internal', 'Connection', 'keep-alive'],
  ...more,
});

export async function inside(made: Side, servername = HOST): Promise<TLSSocket> {
  const socket = await made.program();
  socket.write(`CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}:443\r\n\r\n`);
  expect(await textUntil(socket, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  const secured = connectTls({ socket, servername, ca: [instance.certificate] });
  secured.on('error', () => undefined);
  await new Promise((resolve) => secured.once('secureConnect', resolve).once('close', resolve));
  return secured;
}

export const toHost = (path: string, more: object = {}) => ({
  path,
  headers: ['Host', HOST, 'Connection', 'keep-alive'],
  ...more,
});

export const authorization = ({ headers }: Seen) =>
  headers.flatMap((text, at) =>
    at % 2 === 0 && /^authorization$/i.test(text.replaceAll('_', '-')) ? [headers[at + 1]] : [],
  );
