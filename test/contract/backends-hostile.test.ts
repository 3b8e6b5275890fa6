// What a backend may do to whoever asks it, byte for byte, against both providers that ask one: each gives a typed error in time
// and without its text, and the provider goes on.
import type { Socket } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ServiceError } from '../../src/domain/errors.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { customProvider } from '../../src/providers/custom/custom.ts';
import { hostedProvider } from '../../src/providers/hosted/hosted.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { silentLogger } from '../support/fakes/ports.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { httpAnswer, rawBackend } from '../support/scripted/raw-backend.ts';
import { customConfig } from '../support/servers/custom-backend.ts';
import { until } from '../support/until.ts';

const MARK = 'text-of-the-backend';
const instance = { id: '00000000-0000-4000-8000-00000000bad0' };
const shared = { clock: realClock(), logger: silentLogger, instance };

const MAKERS: Record<'custom' | 'hosted', (base_url: string) => Provider> = {
  custom: (base_url) => customProvider({ ...shared, config: { ...customConfig(base_url), timeout: '1s' } }),
  hosted: (base_url) =>
    hostedProvider({
      ...{ ...shared, random: realRandom() },
      config: {
        ...{ enabled: true, base_url, sandbox_url: base_url, api_key: 'k', template: 'base' },
        ...{ timeout: '1s', max_sandboxes: 0 },
      },
    }),
};

const JSON_TYPE = 'content-type: application/json';
const OK = 'HTTP/1.1 200 OK';
const CHUNKED = `${OK}\r\n${JSON_TYPE}\r\ntransfer-encoding: chunked\r\n\r\n`;
const good = httpAnswer('200 OK', '[]', [JSON_TYPE]);
const json = (body: string | Buffer) => httpAnswer('200 OK', body, [JSON_TYPE]);
const says = (bytes: string | Buffer) => (socket: Socket) => void socket.write(bytes);
const saysAndGoes = (bytes: string | Buffer) => (socket: Socket) => void socket.end(bytes);

/** A piece every 20 ms, without an end. */
const drips = (head: string, piece: string) => (socket: Socket) => {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on('close', () => clearInterval(timer));
};

/** As much as is taken, without an end. */
const floods = (head: string, piece: string) => (socket: Socket) => {
  const more = () => {
    while (!socket.destroyed && socket.write(piece.repeat(64)));
  };
  socket.write(head);
  socket.on('drain', more);
  more();
};

const NOT_GIVEN = /^(?:unavailable|provider_error)$/;
const STRANGE = /^provider_error$/;
const LOST = /^unavailable$/;

/** What it does when it is asked for its sandboxes, and what comes of it. */
const HOSTILE: readonly [string, (socket: Socket) => void, RegExp][] = [
  ['says nothing', () => undefined, LOST],
  ['gives its head letter by letter', drips(`${OK}\r\nx: `, 'y'), LOST],
  ['gives its body letter by letter', drips(CHUNKED, '1\r\n \r\n'), LOST],
  ['stops in its head', says(`${OK}\r\nx: `), LOST],
  ['stops in its body', says(`${CHUNKED}3\r\n[{"`), LOST],
  ['goes at once', (socket) => void socket.destroy(), LOST],
  ['resets the connection', (socket) => void socket.resetAndDestroy(), LOST],
  ['goes in its body', saysAndGoes(`${CHUNKED}3\r\n[{"`), NOT_GIVEN],
  ['has one header without an end', floods(`${OK}\r\nx: `, MARK), NOT_GIVEN],
  ['has headers without an end', floods(`${OK}\r\n`, `x: ${MARK}\r\n`), NOT_GIVEN],
  ['has a body without an end', floods(CHUNKED, `13\r\n${MARK}\r\n`), NOT_GIVEN],
  ['has an extension of a chunk without an end', floods(`${CHUNKED}1;`, MARK), NOT_GIVEN],
  ['has trailers without an end', floods(`${CHUNKED}2\r\n[]\r\n0\r\n`, `x: ${MARK}\r\n`), NOT_GIVEN],
  ['announces itself without an end', floods('', 'HTTP/1.1 103 Early Hints\r\n\r\n'), NOT_GIVEN],
  ['says 100 unasked', says(`HTTP/1.1 100 Continue\r\n\r\n${MARK}`), NOT_GIVEN],
  [
    'switches protocols unasked',
    says(`HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n${MARK}`),
    NOT_GIVEN,
  ],
  [
    'gives less than its length',
    saysAndGoes(`${OK}\r\n${JSON_TYPE}\r\ncontent-length: 99\r\n\r\n[]`),
    NOT_GIVEN,
  ],
  [
    'has two lengths',
    says(`${OK}\r\n${JSON_TYPE}\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n[]x`),
    STRANGE,
  ],
  ['has a length below nothing', says(`${OK}\r\ncontent-length: -1\r\n\r\n${MARK}`), STRANGE],
  ['has a length beyond numbers', says(`${OK}\r\ncontent-length: ${'9'.repeat(40)}\r\n\r\n${MARK}`), STRANGE],
  [
    'has a length and chunks',
    says(`${OK}\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n`),
    STRANGE,
  ],
  ['has a chunk beyond numbers', says(`${CHUNKED}ffffffffffffffffff\r\n${MARK}`), STRANGE],
  [
    'leads to metadata',
    says(httpAnswer('302 Found', MARK, ['location: http://169.254.169.254/latest'])),
    STRANGE,
  ],
  ['leads to itself', says(httpAnswer('308 x', MARK, ['location: /v2/sandboxes'])), STRANGE],
  [
    'sends a bomb',
    says(httpAnswer('200 OK', gzipSync(Buffer.alloc(1 << 22)), [JSON_TYPE, 'content-encoding: gzip'])),
    STRANGE,
  ],
  [
    'compresses twice',
    says(httpAnswer('200 OK', deflateSync(gzipSync('[]')), [JSON_TYPE, 'content-encoding: gzip, deflate'])),
    STRANGE,
  ],
  [
    'speaks HTTP/1.0 without a length',
    saysAndGoes(`HTTP/1.0 200 OK\r\n${JSON_TYPE}\r\n\r\n${MARK}`),
    STRANGE,
  ],
  ['speaks HTTP/2', says(Buffer.from('00001204000000000000030000006400040000ffff', 'hex')), NOT_GIVEN],
  ['speaks TLS', says(Buffer.from('15030100020228', 'hex')), NOT_GIVEN],
  ['speaks something else', says(`220 ${MARK}\r\n`), STRANGE],
  ['has a status that is none', says(httpAnswer('999 x', MARK)), NOT_GIVEN],
  // An empty list is what takes sandboxes for gone.
  ['answers nothing with 204', says('HTTP/1.1 204 x\r\n\r\n'), STRANGE],
  ['answers nothing with 200', says(httpAnswer('200 OK', '')), STRANGE],
  ['gives no list', says(json(`{"${MARK}":1}`)), STRANGE],
  ['gives a list of nothing', says(json('[null]')), STRANGE],
  ['gives JSON that is deep', says(json('['.repeat(200_000))), STRANGE],
  ['gives UTF-16', says(json(Buffer.from(`["${MARK}"]`, 'utf16le'))), STRANGE],
  ['gives NaN', says(json('[{"id":NaN,"sandboxID":NaN}]')), STRANGE],
  [
    'hides a second answer behind the first',
    says(Buffer.concat([httpAnswer('500 x', MARK), json(`["${MARK}"]`)])),
    STRANGE,
  ],
];

/** It takes the next answer for what it is. A busy machine may not give it within its second. */
const goesOn = (provider: Provider) =>
  until('an empty list', () =>
    provider.list(soon()).then(
      (list) => {
        expect(list).toEqual([]);
        return true;
      },
      (error: ServiceError) => {
        if (error.code !== 'unavailable') throw error;
        return false;
      },
    ),
  );

describe.each(['custom', 'hosted'] as const)('a %s backend', (kind) => {
  describe.concurrent('that', () => {
    it.each(HOSTILE)('%s', async (_, does, code) => {
      let isHostile = true;
      const backend = await rawBackend((socket) => (isHostile ? does(socket) : void socket.write(good)));
      const provider = MAKERS[kind](backend.url);
      try {
        const begun = performance.now();
        const failed = await provider.list(soon()).then(
          (list) => ({ code: 'none', message: JSON.stringify(list) }) as unknown as ServiceError,
          (error: ServiceError) => error,
        );
        // Its second, and what a busy machine adds to it.
        expect(performance.now() - begun).toBeLessThan(20_000);
        expect(failed.code, failed.message).toMatch(code);
        expect(`${failed.message} ${failed.remedy} ${String(failed.cause)}`).not.toContain(MARK);
        isHostile = false;
        await goesOn(provider);
        expect(backend.received).not.toMatch(/cookie/i);
      } finally {
        await provider.close();
        await backend.close();
      }
    });
  });

  it('gets no cookie back, and may send headers twice', async () => {
    const twice = ['set-cookie: a=b', 'set-cookie: c=d', 'x: y', 'x: z', JSON_TYPE, JSON_TYPE];
    const backend = await rawBackend((socket) => void socket.write(httpAnswer('200 OK', '[]', twice)));
    const provider = MAKERS[kind](backend.url);
    try {
      for (let round = 0; round < 2; round++) await goesOn(provider);
      expect(backend.received).not.toMatch(/cookie/i);
    } finally {
      await provider.close();
      await backend.close();
    }
  });

  it.each([
    'http://169.254.169.254',
    'http://[::ffff:169.254.169.254]',
    'http://[::ffff:a9fe:a9fe]',
    'http://0.0.0.0:1',
  ])('at %s gets no request', async (url) => {
    const provider = MAKERS[kind](url);
    try {
      await expect(provider.list(soon())).rejects.toMatchObject({
        code: 'provider_error',
        message: expect.stringContaining('was not contacted'),
      });
    } finally {
      await provider.close();
    }
  });
});

const NDJSON = `${OK}\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n`;
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const lines = (...all: string[]) =>
  says([NDJSON, ...all.map((line) => chunk(`${line}\n`)), chunk(''), '\r\n'].join(''));
const EXIT = '{"stream":"exit","exit_code":0}';

/** Where in its contract, what it says there, and what comes of it. */
const UNTRUE: readonly [string, 'create' | 'exec' | 'stat', (socket: Socket) => void, RegExp][] = [
  ['makes a sandbox without an id', 'create', says(json('{}')), STRANGE],
  ['makes one whose id is NaN', 'create', says(json('{"id":NaN}')), STRANGE],
  ['makes one whose id is a number', 'create', says(json('{"id":1}')), STRANGE],
  ['makes one whose id leads elsewhere', 'create', says(json('{"id":"../other"}')), STRANGE],
  ['makes one whose id is a request', 'create', says(json('{"id":"a HTTP/1.1\\r\\nx: y"}')), STRANGE],
  ['makes one whose id does not end', 'create', says(json(`{"id":"${'a'.repeat(70_000)}"}`)), STRANGE],
  ['makes one with a prototype', 'create', says(json('{"__proto__":{"id":"a"}}')), STRANGE],
  ['has a line without an end', 'exec', floods(NDJSON, chunk('x'.repeat(60_000))), STRANGE],
  ['has a line that is no JSON', 'exec', lines(MARK, EXIT), STRANGE],
  ['has a line that is no object', 'exec', lines('[]', EXIT), STRANGE],
  ['has a line that is deep', 'exec', lines('['.repeat(200_000), EXIT), STRANGE],
  ['has output that is no text', 'exec', lines('{"stream":"stdout","data":{"length":9}}', EXIT), STRANGE],
  ['ends with NaN', 'exec', lines('{"stream":"exit","exit_code":NaN}'), STRANGE],
  ['ends with what no program ends with', 'exec', lines('{"stream":"exit","exit_code":1e9}'), STRANGE],
  ['ends without an end', 'exec', lines('{"stream":"stdout","data":"x"}'), NOT_GIVEN],
  [
    'gives up in its words',
    'exec',
    lines(`{"stream":"error","data":"${MARK}","message":"${MARK}"}`),
    NOT_GIVEN,
  ],
  [
    'compresses a command',
    'exec',
    says(httpAnswer('200 OK', gzipSync(`${EXIT}\n`), ['content-encoding: gzip'])),
    STRANGE,
  ],
  [
    'leads a command elsewhere',
    'exec',
    says(httpAnswer('307 x', MARK, ['location: http://169.254.169.254/'])),
    STRANGE,
  ],
  ['tells of a file that is none', 'stat', says(json('{"path":7,"type":"door","size":"1e999"}')), STRANGE],
];

describe.concurrent('a custom backend that', () => {
  it.each(UNTRUE)('%s', async (_, where, does, code) => {
    const backend = await rawBackend((socket, asked) =>
      asked.startsWith('GET /status/')
        ? void socket.write(json('{"id":"a","state":"running"}'))
        : does(socket),
    );
    const provider = MAKERS.custom(backend.url);
    const inside = () => provider.attach({ id: 'sb-a', epoch: 1, runtime_id: 'a' }, soon());
    const calls = {
      create: () => provider.create(runtimeSpec(freshId()), soon()),
      exec: async () => runInside(await inside(), ['true']),
      stat: async () => (await inside()).files.stat('/workspace/a'),
    };
    try {
      const failed = await calls[where]().then(
        (given) => ({ code: 'none', message: JSON.stringify(given) }) as unknown as ServiceError,
        (error: ServiceError) => error,
      );
      expect(failed.code, failed.message).toMatch(code);
      expect(`${failed.message} ${failed.remedy} ${String(failed.cause)}`).not.toContain(MARK);
    } finally {
      await provider.close();
      await backend.close();
    }
  });
});
