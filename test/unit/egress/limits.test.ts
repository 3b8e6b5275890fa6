// Bounds of outgoing access: connections, new ones, rate, bytes, look-ups, lines and events.
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { dialFirst, dialTcp } from '../../../src/egress/dial.ts';
import type { DialedConnection, EgressEvent } from '../../../src/egress/egress.ts';
import { DecisionLog } from '../../../src/egress/log.ts';
import { Notices } from '../../../src/egress/notices.ts';
import { ByteQuota } from '../../../src/egress/quota.ts';
import { Names } from '../../../src/egress/resolve.ts';
import { Slots } from '../../../src/egress/slots.ts';
import type { EgressLogLine } from '../../../src/schema/egress.ts';
import { fakeClock } from '../../support/fakes/ports.ts';
import { applied, egressSide, target, textUntil, textUntilEnd } from '../../support/servers/egress-side.ts';
import { until } from '../../support/until.ts';

const PUBLIC = '93.184.216.34';
const names = { 'api.example.com': [PUBLIC] };
const rules = { allow: ['api.example.com:2222'] };
const forever = new AbortController().signal;
const ASK = 'CONNECT api.example.com:2222 HTTP/1.1\r\nHost: x\r\n\r\n';

it('lets waiting connections in by their order, and refuses them after 10 s', async () => {
  const clock = fakeClock();
  const slots = new Slots(() => 1, clock);
  const leave = await slots.take(forever);
  const [second, third] = [slots.take(forever), slots.take(forever)];
  third.catch(() => undefined);
  expect([slots.open, slots.waiting]).toEqual([1, 2]);
  leave();
  leave();
  const leaveSecond = await second;
  expect([slots.open, slots.waiting]).toEqual([1, 1]);
  await clock.advance(10_000);
  await expect(third).rejects.toMatchObject({ reason: 'connections' });
  leaveSecond();
  expect([slots.open, slots.waiting, clock.pending()]).toEqual([0, 0, 0]);
});

it('forgets a connection that gave up while it waited', async () => {
  const slots = new Slots(() => 1, fakeClock());
  const leave = await slots.take(forever);
  const over = new AbortController();
  const waiting = slots.take(over.signal);
  over.abort();
  await expect(waiting).rejects.toMatchObject({ reason: 'connections' });
  leave();
  expect([slots.open, slots.waiting]).toEqual([0, 0]);
});

it('refuses connections over those of the sandbox and over those of the server', async () => {
  const port = await target((socket) => void socket.resume().once('end', () => socket.end()));
  const clock = fakeClock();
  const side = await egressSide({
    rules,
    names,
    targets: { [`${PUBLIC}:2222`]: port },
    policy: { max_connections: 1 },
    deps: { clock },
  });
  const first = await side.program();
  first.write(ASK);
  expect(await textUntil(first, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  const second = await side.program();
  second.write(ASK);
  await until('the wait', () => side.egress.diagnostics().waiting === 1);
  await clock.advance(10_000);
  expect(await textUntil(second, '\r\n\r\n')).toMatch(/^HTTP\/1\.1 429 .*x-svc-egress: connections/s);
  expect(side.events).toMatchObject([{ type: 'egress.limited', reason: 'connections' }]);
  first.destroy();
  await until('the end', () => side.egress.diagnostics().open === 0);
});

it('refuses new connections over their number a minute', async () => {
  const side = await egressSide({ rules, names, settings: { new_connections_per_minute: 2 } });
  const answers: string[] = [];
  for (let count = 0; count < 3; count++) {
    const socket = await side.program();
    socket.write(ASK);
    answers.push((await textUntil(socket, '\r\n\r\n')).replace(/^.*x-svc-egress: (\w+).*$/s, '$1'));
  }
  expect(answers).toEqual(['unreachable', 'unreachable', 'rate']);
});

const HTTP_403 = 'HTTP/1.1 403 ';
const SOCKS_REFUSED = '\x05\x02';

it.each([
  ['by CONNECT', 'CONNECT other.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', HTTP_403],
  ['by HTTP', 'GET http://other.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n', HTTP_403],
  ['by SOCKS', '\x05\x01\x00\x05\x01\x00\x01\x08\x08\x08\x08\x01\xbb', SOCKS_REFUSED],
])('answers refusals %s late when there are more than new connections a minute', async (_, text, mark) => {
  const clock = fakeClock();
  const settings = { new_connections_per_minute: 2 };
  const side = await egressSide({ rules, names, settings, deps: { clock } });
  const denied = async () => {
    const socket = await side.program();
    socket.write(Buffer.from(text, 'latin1'));
    return socket;
  };
  for (let count = 0; count < 2; count++) expect(await textUntil(await denied(), mark)).toContain(mark);
  const late = await denied();
  await until('the decision', () => side.gate.counters.denied === 3 || undefined);
  let isAnswered = false;
  const answer = textUntil(late, mark).then((each) => {
    isAnswered = true;
    return each;
  });
  await clock.advance(999);
  expect(isAnswered).toBe(false);
  await clock.advance(1);
  expect(await answer).toContain(mark);
});

it('cuts all connections once the bytes are used, and refuses further ones', async () => {
  const port = await target((socket) => void socket.on('data', (data) => socket.write(data)));
  const side = await egressSide({
    rules,
    names,
    targets: { [`${PUBLIC}:2222`]: port },
    policy: { max_bytes: 1000 },
  });
  const [one, other] = [await side.program(), await side.program()];
  for (const socket of [one, other]) {
    socket.write(ASK);
    await textUntil(socket, '\r\n\r\n');
  }
  one.write('x'.repeat(600));
  await Promise.all([textUntilEnd(one), textUntilEnd(other)]);
  const third = await side.program();
  third.write(ASK);
  expect(await textUntil(third, '\r\n\r\n')).toContain('x-svc-egress: bytes');
  const { open, sent_bytes, received_bytes } = side.gate.counters;
  expect(open).toBe(0);
  expect(sent_bytes + received_bytes).toBeLessThan(1400);
  expect(side.gate.log().map(({ reason }) => reason)).toEqual(['bytes', 'bytes', 'bytes']);
});

it('makes bytes wait for the rate, after a burst of a quarter second', async () => {
  const clock = fakeClock();
  const quota = new ByteQuota(() => ({ rate: 1000, max_bytes: 0 }), clock);
  await clock.advance(10_000);
  expect(quota.pass('sent', 250)).toBe(0);
  expect(quota.pass('sent', 500)).toBe(500);
  expect(quota.pass('received', 100)).toBe(0);
  await clock.advance(500);
  expect(quota.pass('sent', 100)).toBe(100);
});

it('keeps the addresses of a name, looks it up once at a time, and bounds look-ups', async () => {
  const clock = fakeClock();
  const asked: string[] = [];
  const lookup = async (name: string) => {
    asked.push(name);
    return { addresses: [PUBLIC], ttlMs: 0 };
  };
  const kept = new Names({ lookup }, clock);
  await Promise.all([kept.addresses('a.example.com'), kept.addresses('a.example.com')]);
  await clock.advance(29_000);
  await kept.addresses('a.example.com');
  expect(asked).toEqual(['a.example.com']);
  await clock.advance(2000);
  await kept.addresses('a.example.com');
  expect(asked).toHaveLength(2);
  const many = Array.from({ length: 200 }, (_, at) =>
    kept.addresses(`n${at}.example.com`).catch(({ reason }) => reason),
  );
  const refused = (await Promise.all(many)).filter((each) => each === 'rate');
  expect(refused.length).toBeGreaterThan(75);
  expect(asked.length).toBeLessThan(125);
});

it('gives up on a name server that never answers', async () => {
  const clock = fakeClock();
  const names = new Names({ lookup: () => new Promise(() => undefined) }, clock);
  const waiting = names.addresses('a.example.com');
  waiting.catch(() => undefined);
  await clock.advance(8000);
  await expect(waiting).rejects.toMatchObject({ reason: 'timeout' });
});

it('connects to the first address that answers, and never to another peer', async () => {
  const clock = fakeClock();
  const tried: string[] = [];
  const sockets: PassThrough[] = [];
  const peers: Record<string, string> = { '8.8.8.8': '127.0.0.1', '9.9.9.9': '::ffff:9.9.9.9' };
  const dial = async (address: string): Promise<DialedConnection> => {
    tried.push(address);
    const peer = peers[address];
    if (peer === undefined) throw new Error('refused');
    const socket = new PassThrough();
    sockets.push(socket);
    return { socket, peer };
  };
  const terms = { dial, clock, timeoutMs: 1000, signal: forever };
  const won = await dialFirst(['7.7.7.7', '8.8.8.8', '9.9.9.9'], 443, terms);
  expect([won.address, tried]).toEqual(['9.9.9.9', ['7.7.7.7', '8.8.8.8', '9.9.9.9']]);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  await expect(dialFirst(['8.8.8.8'], 443, terms)).rejects.toMatchObject({ reason: 'unreachable' });
  const silent = dialFirst(['7.7.7.8'], 443, { ...terms, dial: () => new Promise(() => undefined) });
  silent.catch(() => undefined);
  await clock.advance(1000);
  await expect(silent).rejects.toMatchObject({ reason: 'timeout' });
});

it('refuses a connection whose ends are both this host, as the kernel sees it', async () => {
  const port = await target((socket) => void socket.resume());
  const terms = { dial: dialTcp, clock: fakeClock(), timeoutMs: 1000, signal: forever };
  const own = dialFirst(['127.0.0.1'], port, terms);
  await expect(own).rejects.toMatchObject({ reason: 'address_own_host' });
  const closed = dialFirst(['127.0.0.1'], 1, terms);
  await expect(closed).rejects.toMatchObject({ reason: 'unreachable' });
});

const line = (host: string) => ({ host, decision: 'denied' }) as EgressLogLine;

it('keeps the newest 1,000 decisions; a slow reader misses the oldest', async () => {
  const log = new DecisionLog();
  const over = new AbortController();
  const news = log.follow(over.signal)[Symbol.asyncIterator]();
  for (let at = 0; at < 2500; at++) log.add(line(String(at)));
  expect(log.size).toBe(1000);
  expect(log.read().map(({ host }) => host)).toEqual(
    Array.from({ length: 1000 }, (_, at) => String(1500 + at)),
  );
  expect(log.read({ limit: 1 })).toEqual([line('2499')]);
  expect((await news.next()).value).toEqual(line('1500'));
  over.abort();
  log.close();
  expect(log.read()).toEqual([]);
});

it('joins events, and tells at most 60 a minute of one sandbox', async () => {
  const clock = fakeClock();
  const events: EgressEvent[] = [];
  const notices = new Notices(clock, (event) => void events.push(event));
  const about = (host: string) =>
    notices.note({ type: 'egress.denied', sandbox_id: 'sb-1', host, port: 443, reason: 'not_allowed' });
  for (let count = 0; count < 500; count++) about('one.example.com');
  expect(events.map(({ count }) => count)).toEqual([1]);
  await clock.advance(60_000);
  expect(events.map(({ count }) => count)).toEqual([1, 499]);
  for (let count = 0; count < 5000; count++) about(`n${count}.example.com`);
  expect(events.length).toBeLessThanOrEqual(63);
  notices.close();
  expect(clock.pending()).toBe(0);
});

it('ends with its session, and with the gate', async () => {
  const port = await target((socket) => void socket.on('data', () => undefined));
  const side = await egressSide({ rules, names, targets: { [`${PUBLIC}:2222`]: port } });
  const socket = await side.program();
  socket.write(ASK);
  await textUntil(socket, '\r\n\r\n');
  side.gate.change(applied({ allow: [] }));
  await textUntilEnd(socket);
  await side.gate.close();
  await side.gate.close();
  expect(side.egress.gate('sb-000000000001')).toBeUndefined();
  expect(side.egress.diagnostics()).toEqual({
    gates: 0,
    open: 0,
    waiting: 0,
    clients: 0,
    names: 0,
    lines: 0,
  });
});
