// GET /events on the wire: frames, where a reader begins, signs of life, readers that do not read, the end; and the
// client that follows through all of it.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Event, EventQuery } from '../../src/schema/event.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { eventDraft } from '../support/records.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

let http: TestHttp;
beforeEach(async () => {
  http = await startHttp();
});
afterEach(() => http.server.close(0));

interface Reader {
  socket: Socket;
  /** Head and body as they came. */
  text(): string;
  /** The blocks of the body so far. */
  blocks(): string[];
}

/** A reader by hand; `path` below /events. */
function read(path = '', headers: Record<string, string> = {}, target = http): Reader {
  const socket = connect(target.port, '127.0.0.1').setEncoding('utf8');
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (part) => {
    text += part;
  });
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`GET /api/v1/events${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return { socket, text: () => text, blocks: () => blocksOf(text) };
}

function blocksOf(text: string): string[] {
  const body = text.slice(text.indexOf('\r\n\r\n') + 4).replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '');
  return body.split('\n\n').slice(0, -1);
}

const publish = (count = 1, facts = {}) =>
  http.control.events.publish(Array.from({ length: count }, () => eventDraft(facts)));
const live = (count = 1) => until('the readers are there', () => http.control.events.readers() === count);
const ids = (reader: Reader) =>
  reader
    .blocks()
    .flatMap((block) => (block.includes('\nevent: ') ? [Number(/^id: (\d+)$/m.exec(block)?.[1])] : []));

describe('the stream', () => {
  it('opens at once with the id to resume from, and sends each event in a frame', async () => {
    await publish(2);
    const reader = read();
    await until('it is open', () => reader.blocks().length === 1);
    expect(reader.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(reader.text()).toMatch(/^content-type: text\/event-stream\r$/im);
    expect(reader.text()).toMatch(/^cache-control: no-store\r$/im);
    expect(reader.text()).toMatch(/^x-request-id: .+\r$/im);
    expect(reader.blocks()).toEqual(['retry: 2000\nid: 2']);
    const [event] = await publish(1, { sandbox_id: 'sb-1', data: { message: 'a\nb\r\u2028' } });
    await until('the event came', () => reader.blocks().length === 2);
    const [id, type, data = ''] = reader.blocks()[1]!.split('\n');
    expect([id, type]).toEqual(['id: 3', 'event: sandbox.created']);
    expect(JSON.parse(data.replace(/^data: /, ''))).toEqual(event);
  });

  it('begins after Last-Event-ID or since; the header wins', async () => {
    await publish(5);
    const readers = [
      read('?since=3'),
      read('', { 'Last-Event-ID': '3' }),
      read('?since=1', { 'Last-Event-ID': '3' }),
    ];
    const all = read('?since=0', { 'Last-Event-ID': '' });
    await live(4);
    await publish(1);
    for (const reader of readers) await until('the rest came', () => ids(reader).join() === '4,5,6');
    await until('all came', () => ids(all).join() === '1,2,3,4,5,6');
  });

  it.each(['-1', '1.5', 'x', '1e3', '0x1', '١', '9'.repeat(16), '1, 2'])(
    'refuses the Last-Event-ID %j',
    async (value) => {
      const reader = read('', { 'Last-Event-ID': Buffer.from(value).toString('latin1') });
      await until('it is refused', () => reader.text().includes('Last-Event-ID is not'));
      expect(reader.text()).toMatch(/^HTTP\/1\.1 400 /);
      expect(http.control.events.readers()).toBe(0);
    },
  );

  it.each(['type=nothing', 'since=-1', 'since=x', 'follow=maybe', 'until=1', 'since=1&since=2'])(
    'refuses the query %s',
    async (query) => {
      const answer = await fetch(`${http.base}/events?${query}`);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'bad_request']);
    },
  );

  it('reports pruned events before any other', async () => {
    await publish(5);
    await http.control.events.prune(2);
    const reader = read('?since=1');
    await until('all came', () => ids(reader).length === 3);
    expect(reader.blocks()[0]).toBe('retry: 2000\nid: 3');
    expect(reader.blocks()[1]).toMatch(/^id: 3\nevent: stream\.gap\ndata: \{.*"type":"stream\.gap"/);
    expect(ids(reader)).toEqual([3, 4, 5]);
  });

  it('filters, and with follow=false ends after the stored events', async () => {
    await publish(300);
    await publish(1, { type: 'exec.failed' });
    const text = await (await fetch(`${http.base}/events?follow=false&type=exec.*`)).text();
    expect(blocksOf(`\r\n\r\n${text}`).map((block) => /event: (\S+)/.exec(block)?.[1])).toEqual([
      undefined,
      'exec.failed',
    ]);
    const whole = await (await fetch(`${http.base}/events?follow=false`)).text();
    expect(whole.match(/^event: /gm)).toHaveLength(301);
    await until('no place is kept', () => http.control.events.readers() === 0);
  });

  it('answers 405 to HEAD, and 503 when there are too many readers', async () => {
    expect((await fetch(`${http.base}/events`, { method: 'HEAD' })).status).toBe(405);
    const { ServiceError } = await import('../../src/domain/errors.ts');
    http.control.failing.set(
      'events.subscribe',
      new ServiceError('unavailable', 'Too many.', { retryAfterMs: 9000 }),
    );
    const answer = await fetch(`${http.base}/events`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '9']);
  });

  it('sends the CORS header to pages of listed origins', async () => {
    const listed = await startHttp({ server: { cors_allowed_origins: ['https://app.example.com'] } });
    const reader = read('?follow=false', { Origin: 'https://app.example.com' }, listed);
    await until('it is open', () => reader.blocks().length === 1);
    expect(reader.text()).toMatch(/^access-control-allow-origin: https:\/\/app\.example\.com\r$/im);
    expect(reader.text()).toMatch(/^vary: Origin\r$/im);
    await listed.server.close(0);
  });
});

describe('readers', () => {
  it('free their slot when they leave', async () => {
    const readers = [read(), read()];
    await live(2);
    readers[0]!.socket.destroy();
    await live(1);
    // Who ends its own side only is still reading.
    readers[1]!.socket.end();
    await setTimeout(500);
    await publish();
    await until('it has the event', () => ids(readers[1]!).length === 1);
    readers[1]!.socket.destroy();
    await live(0);
  });

  it('receive a keepalive every 15 s, with the id that they have reached', async () => {
    const clock = fakeClock();
    const slow = await startHttp({ clock });
    const reader = read('?type=exec.failed', {}, slow);
    await until('it is open', () => reader.blocks().length === 1);
    await slow.control.events.publish([eventDraft()]);
    await until('it is not for this reader, but served', async () => {
      await clock.advance(15_000);
      return reader.blocks().at(-1) === ': keep-alive\nid: 1';
    });
    const before = reader.blocks().length;
    await clock.advance(14_000);
    expect(reader.blocks()).toHaveLength(before);
    await clock.advance(1_000);
    await until('another sign', () => reader.blocks().length > before);
    await slow.server.close(0);
  });

  it('that fall behind are dropped, while others are served', async () => {
    const stalled = read();
    const healthy = read();
    await live(2);
    stalled.socket.pause();
    let last = 0;
    const fat = { data: { message: 'x'.repeat(60_000) } };
    await until('the stalled one is dropped', async () => {
      [{ id: last }] = (await publish(10, fat)).slice(-1) as [Event];
      return http.control.events.readers() === 1;
    });
    await until('the healthy one has all', () => ids(healthy).length === last);
    expect(ids(healthy).at(-1)).toBe(last);
    expect(
      http.logger.lines.filter(
        ({ message }) => message === 'Event reader is too slow; closing its connection.',
      ),
    ).toHaveLength(1);
  });

  it('of stored events may be slow, but not stall for ever', async () => {
    const clock = fakeClock();
    const slow = await startHttp({ clock });
    await slow.control.events.publish(
      Array.from({ length: 600 }, () => eventDraft({ data: { message: 'x'.repeat(60_000) } })),
    );
    const stalled = read('?since=0', {}, slow);
    stalled.socket.pause();
    const patient = read('?since=0', {}, slow);
    await until('the patient one has all', () => ids(patient).length === 600);
    expect(slow.control.events.readers()).toBe(2);
    for (let n = 0; n < 5; n += 1) await clock.advance(15_000);
    await until('the stalled one is dropped', () => slow.control.events.readers() === 1);
    await slow.server.close(0);
  });
});

describe('a stop', () => {
  it('ends streams at once, also those that nobody reads', async () => {
    const reader = read();
    const stalled = read();
    await live(2);
    stalled.socket.pause();
    for (let n = 0; n < 3; n += 1) await publish(5, { data: { message: 'x'.repeat(60_000) } });
    const ended = once(reader.socket, 'close');
    const begin = performance.now();
    await http.server.close(60_000);
    await ended;
    expect(performance.now() - begin).toBeLessThan(30_000);
    expect(http.control.events.readers()).toBe(0);
  });
});

describe('the client', () => {
  /** Waits no longer than it must. */
  const clock = { sleep: async () => {} };
  const follow = (query: EventQuery = {}, signal?: AbortSignal) => {
    const client = new Client({ server: http.url });
    return { client, events: client.events(query, { clock, ...(signal && { signal }) }) };
  };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const sockets = new Set<Socket>();

  /** A proxy whose connections a test can cut. */
  async function proxied(): Promise<{ url: string; close(): void }> {
    const { createServer } = await import('node:net');
    const server = createServer((near) => {
      const far = connect(http.port, '127.0.0.1');
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
      }
      near.on('close', () => far.destroy());
      far.on('close', () => near.destroy());
      near.pipe(far).pipe(near);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
  }

  it('reads the stored events and ends', async () => {
    const stored = await publish(400);
    const { events } = follow({ follow: false });
    const got: Event[] = [];
    for await (const event of events) got.push(event);
    expect(got).toEqual(stored);
  });

  it('resumes where it was cut off, without a gap or a duplicate', async () => {
    const { url, close } = await proxied();
    const client = new Client({ server: url });
    const got: number[] = [];
    const end = new AbortController();
    const reading = (async () => {
      for await (const { id } of client.events({}, { clock, signal: end.signal })) got.push(id);
    })().catch((error: unknown) => error);
    await live(1);
    for (let round = 1; round <= 5; round += 1) {
      await publish(7);
      if (round % 2 === 0) cut();
      await publish(7);
      await until('they came', () => got.length === round * 14);
    }
    expect(got).toEqual(Array.from({ length: 70 }, (_, i) => i + 1));
    end.abort(new Error('enough'));
    expect(await reading).toMatchObject({ message: 'enough' });
    close();
  });

  it('throws errors that a retry cannot fix, and a failure of the first connection', async () => {
    await expect(follow({ type: 'nothing' }).events.next()).rejects.toMatchObject({ code: 'bad_request' });
    const nowhere = new Client({ server: 'http://127.0.0.1:1' });
    await expect(nowhere.events({}, { clock }).next()).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('closes its connection when the caller leaves the loop', async () => {
    await publish(1);
    const { events } = follow({ since: 0 });
    await events.next();
    await live(1);
    await events.return(undefined);
    await live(0);
  });
});
