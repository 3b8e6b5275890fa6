// What programs in sandboxes send to the proxy port: whatever it is, only a request for the decided host leaves, as one request.
import { type Duplex, duplexPair } from 'node:stream';
import { egressCredential } from '../../src/domain/egress/credential.ts';
import type { AppliedEgress } from '../../src/egress/egress.ts';
import { HelloReader, type HelloReading, HelloWatch } from '../../src/egress/hello.ts';
import { HttpFront } from '../../src/egress/http-front.ts';
import type { IdleLines } from '../../src/egress/idle-lines.ts';
import type { Ask } from '../../src/egress/passage.ts';
import { EgressRefusal } from '../../src/egress/refusal.ts';
import { readGreeting, readSocksRequest } from '../../src/egress/socks.ts';
import { readAbsolute, readAuthority, readHostHeader } from '../../src/egress/target.ts';
import type { Opened } from '../../src/egress/tunnel.ts';
import { clientHello } from '../../test/support/checks/client-hello.ts';
import { fakeClock } from '../../test/support/fakes/ports.ts';
import type { Chance } from './chance.ts';
import { pieces } from './hostile.ts';
import { type Read, require, type Sample } from './reading.ts';

export const EGRESS_FORMATS: Record<string, readonly [Sample, Read]> = {
  'ClientHello of TLS': [hello, sameName],
  'records of TLS behind a hello': [records, findsEveryHello],
  'SOCKS of a program': [socks, readSocks],
  'target of a program': [target, readTargets],
  'HTTP of a program': [requests, forwardsOneHost],
  'HTTP of a program to a host with a credential': [toBrokered, setsOneCredential],
};

const HOST = 'api.example.com';

function hello(chance: Chance): Buffer {
  const perRecord = chance.pick([1, 5, 100, 16_384]);
  return clientHello({ names: chance.oneIn(5) ? [] : [HOST], perRecord, padding: chance.below(300) });
}

/** What is read does not depend on how it arrived. */
function sameName(chance: Chance, bytes: Buffer): void {
  const read = (parts: readonly Buffer[]): HelloReading => {
    const reader = new HelloReader();
    for (const part of parts) {
      const reading = reader.write(part);
      if (reading.kind !== 'more') return reading;
    }
    return { kind: 'more' };
  };
  const [whole, cut] = [read([bytes]), read(pieces(chance, bytes))];
  require(JSON.stringify(whole) ===
    JSON.stringify(cut), `${JSON.stringify(whole)}, in pieces ${JSON.stringify(cut)}`);
  require(whole.kind !== 'hello' || (whole.name ?? '').length < bytes.length, 'a name longer than its hello');
}

/** Whole records, among them a hello or none. */
function records(chance: Chance): Buffer {
  const parts = Array.from({ length: 1 + chance.below(4) }, () => {
    const content = chance.bytes(chance.below(300));
    return Buffer.concat([Buffer.from([chance.pick([20, 21, 23, 24]), 3, 3, 0, 0]), content]);
  });
  for (const part of parts) part.writeUInt16BE(part.length - 5, 3);
  return Buffer.concat([...parts, chance.oneIn(2) ? clientHello({ names: [HOST] }) : Buffer.alloc(0)]);
}

/** What passes, and what is held, does not depend on how it arrived; nothing is lost. */
function findsEveryHello(chance: Chance, bytes: Buffer): void {
  const split = (parts: readonly Buffer[]) => {
    const watch = new HelloWatch();
    const passed: Buffer[] = [];
    for (const [at, part] of parts.entries()) {
      const { before, hello, isOver } = watch.write(part);
      passed.push(before);
      if (hello)
        return { passed: Buffer.concat(passed), held: Buffer.concat([hello, ...parts.slice(at + 1)]) };
      if (isOver)
        return { passed: Buffer.concat([...passed, ...parts.slice(at + 1)]), held: Buffer.alloc(0) };
    }
    return { passed: Buffer.concat([...passed, watch.rest]), held: Buffer.alloc(0) };
  };
  const [whole, cut] = [split([bytes]), split(pieces(chance, bytes))];
  require(whole.passed.equals(cut.passed) &&
    whole.held.equals(cut.held), 'another hello when it came in pieces');
  require(Buffer.concat([whole.passed, whole.held]).equals(bytes), 'bytes were lost');
}

function socks(chance: Chance): Buffer {
  const literal = chance.pick([
    Buffer.from([1, 93, 184, 216, 34]),
    Buffer.from([3, HOST.length, ...Buffer.from(HOST)]),
    Buffer.concat([Buffer.from([4]), chance.bytes(16)]),
  ]);
  return Buffer.concat([Buffer.from([5, 1, 0]), literal, Buffer.from([1, 187])]);
}

function readSocks(_: Chance, bytes: Buffer): void {
  const greeting = readGreeting(bytes);
  if (greeting.kind === 'greeting') require(greeting.size <= bytes.length, 'a greeting beyond its bytes');
  const request = readSocksRequest(bytes);
  if (request.kind !== 'request') return;
  require(request.size <= bytes.length &&
    request.port >= 0 &&
    request.port <= 65_535, 'a request beyond its bytes');
}

function target(chance: Chance): Buffer {
  return Buffer.from(
    chance.pick([`http://${HOST}:80/a?b`, `${HOST}:443`, '[::1]:443', 'http://[::ffff:127.0.0.1]/', HOST]),
  );
}

/** A host never holds what ends a host in a URL. */
function readTargets(_: Chance, bytes: Buffer): void {
  const text = bytes.toString('latin1');
  for (const read of [readAbsolute(text), readAuthority(text), readHostHeader(text)]) {
    if (read === undefined) continue;
    require(!/[\s/?#@\\[\]]/.test(read.host) &&
      read.port > 0 &&
      read.port <= 65_535, `the host ${read.host}`);
    require(!('path' in read) || String(read.path).startsWith('/'), 'a path without a slash');
  }
}

function requests(chance: Chance): Buffer {
  const body = 'x'.repeat(chance.below(20));
  const one = () => {
    const head = [`POST http://${HOST}/a HTTP/1.1`, `Host: ${HOST}`, 'X-A: 1'];
    const framed = chance.oneIn(2)
      ? [...head, `Content-Length: ${body.length}`, '', body]
      : [
          ...head,
          'Transfer-Encoding: chunked',
          '',
          `${body.length.toString(16)}`,
          body,
          ...(body ? ['0', '', ''] : ['', '']),
        ];
    return framed.join('\r\n');
  };
  return Buffer.from(Array.from({ length: 1 + chance.below(3) }, one).join(''));
}

const NOTHING: AppliedEgress = {
  ...{
    layers: [],
    isPermittedPrivate: () => false,
    max_connections: 1,
    rate: 0,
    max_bytes: 0,
    credentials: [],
    log: 'none',
  },
};

/** Each connection that is opened gets one request, whose Host is that for which it was opened. */
async function forwardsOneHost(chance: Chance, bytes: Buffer): Promise<void> {
  for (const { ask, text } of await forwarded(chance, bytes, NOTHING)) requireOneRequest(ask, text);
}

const VALUE = 'the-value-of-the-credential';
const KEYED: AppliedEgress = {
  ...NOTHING,
  credentials: [
    egressCredential('own', { hosts: [`${HOST}:80`], path_prefixes: ['/a'], allow_http: true }, VALUE),
  ],
};

function toBrokered(chance: Chance): Buffer {
  const header = chance.pick(['Authorization', 'authorization', 'AUTHORIZATION', 'X-A', 'Authoriza_tion']);
  const path = chance.pick(['/a', '/a/b?c', '/a/../b', '/a%2f..', '/b', '/a;/..', '//a', '/a\\..']);
  const head = [`GET http://${HOST}${path} HTTP/1.1`, `Host: ${HOST}`, `${header}: mine`, '', ''];
  return Buffer.from(head.join('\r\n').repeat(1 + chance.below(2)));
}

/** Whatever the program sends, the header is ours alone, and only below the path. */
async function setsOneCredential(chance: Chance, bytes: Buffer): Promise<void> {
  for (const { ask, text } of await forwarded(chance, bytes, KEYED)) {
    requireOneRequest(ask, text);
    const headers = text.split('\r\n\r\n', 1)[0]?.split('\r\n') ?? [];
    const ours = headers.filter((line) => /^authorization:/i.test(line));
    if (text === '') continue;
    require(ours.length === 1 && ours[0]?.endsWith(VALUE) === true, `the credential as ${ours.join(', ')}`);
    require(/^\S+ \/a(?:[/?]\S*)? HTTP\/1\.1$/.test(headers[0] ?? ''), `the request line ${headers[0]}`);
  }
}

async function forwarded(
  chance: Chance,
  bytes: Buffer,
  policy: AppliedEgress,
): Promise<{ ask: Ask; text: string }[]> {
  const sent: { ask: Ask; text: string }[] = [];
  const sides: Duplex[] = [];
  const open = async (ask: Ask): Promise<Opened> => {
    if (ask.host.toLowerCase() !== HOST) throw new EgressRefusal('not_allowed');
    const [ours, theirs] = duplexPair();
    const one = { ask, text: '' };
    sent.push(one);
    sides.push(ours, theirs);
    theirs
      .on('error', () => undefined)
      .on('data', (data: Buffer) => {
        if (one.text === '') theirs.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        one.text += data.toString('latin1');
      });
    return { upstream: ours, passage: { isOpen: true, status: undefined } } as unknown as Opened;
  };
  const gate = {
    ...{ policy, connectMs: 1000, again: () => undefined, idleMs: 1000, open, openEarly: open },
    idle: { take: () => undefined, put: () => undefined, clear: () => undefined } as unknown as IdleLines,
    pace: { turn: async () => undefined },
    admit: async () => Promise.reject(new EgressRefusal('not_allowed')),
    refuse: (_: Ask, __: Duplex, error: unknown) => error as EgressRefusal,
  };
  const [program, client] = duplexPair();
  const closed = new Promise((resolve) => client.once('close', resolve));
  client.on('error', () => undefined);
  const clock = fakeClock();
  new HttpFront(clock).serve(client, { gate, uid: 1 }, 1000);
  program.on('error', () => undefined).resume();
  for (const piece of pieces(chance, bytes)) if (!program.destroyed) program.write(piece);
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
  for (const side of [program, client, ...sides]) side.destroy();
  await closed;
  return sent;
}

function requireOneRequest({ host, method }: Ask, text: string): void {
  if (text === '') return;
  const [head = ''] = text.split('\r\n\r\n', 1);
  const [line = '', ...headers] = head.split('\r\n');
  require(line.startsWith(`${method} /`) || line === 'OPTIONS * HTTP/1.1', `the request line ${line}`);
  const named = (name: string) => headers.filter((header) => header.toLowerCase().startsWith(`${name}:`));
  require(named('host').length === 1, `${named('host').length} Host headers`);
  require(named('host')[0]?.toLowerCase() ===
    `host: ${host.toLowerCase()}`, `the header ${named('host')[0]}`);
  const framings = [...named('content-length'), ...named('transfer-encoding')];
  require(framings.length <= 1, `framed by ${framings.join(', ')}`);
}
