// A session with an honest agent: what is asked, what comes back, and in which order.
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { ExecSpec } from '../../../src/agent/io.ts';
import { FIRST_CREDIT, KIND, METHOD, TYPE } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import { argumentsOf, asks, infoRecord, openScripted } from '../../support/scripted/agent.ts';
import { until } from '../../support/until.ts';

const spec: ExecSpec = { exec_id: 'ex-1', argv: ['sh', '-c', 'true'], label: 'true', env: { A: 'b' } };

async function text(output: AsyncIterable<{ data: Buffer }>): Promise<string> {
  let all = '';
  for await (const { data } of output) all += data.toString();
  return all;
}

test('an exec sends its arguments and yields output, then its exit', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec({ ...spec, workdir: '/w', timeoutMs: 1500, stdin: true });
  const open = await agent.frame(TYPE.OPEN);
  const reader = argumentsOf(open);
  expect([reader.u32(), reader.str(), reader.str(), reader.u32()]).toEqual([4, 'ex-1', '/w', 1500]);
  reader.raw(4);
  expect([reader.str(), reader.u32(), reader.str(), reader.str(), reader.str()]).toEqual([
    'true',
    3,
    'sh',
    '-c',
    'true',
  ]);
  expect([reader.u32(), reader.str()]).toEqual([1, 'A=b']);
  agent.started(open.stream);
  await exec.started;
  agent.data(open.stream, 1, 'out');
  agent.data(open.stream, 2, 'err');
  agent.exited(open.stream, 137, 9);
  const chunks: string[] = [];
  for await (const { channel, data } of exec.output) chunks.push(`${channel}:${data}`);
  expect(chunks).toEqual(['stdout:out', 'stderr:err']);
  expect(await exec.exit).toEqual({ exit_code: 137, signal: 'SIGKILL', timed_out: false, duration_ms: 5 });
});

test('a result settles an exec with unread output, which stays readable', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  agent.data(stream, 1, 'late');
  agent.exited(stream, 3);
  expect((await exec.exit).exit_code).toBe(3);
  expect(await text(exec.output)).toBe('late');
});

test('stdin is sent in order, waits for credit, and its end is sent last', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec({ ...spec, stdin: true });
  const { stream } = await agent.frame(TYPE.OPEN);
  const body = Buffer.alloc(FIRST_CREDIT + 10, 'x');
  let isTaken = false;
  const written = exec.stdin.write(body).then(() => {
    isTaken = true;
  });
  exec.stdin.end();
  const received = () =>
    agent.seen
      .filter((frame) => frame.type === TYPE.DATA)
      .reduce((sum, frame) => sum + frame.payload.length - 1, 0);
  await until('the first credit used up', () => received() === FIRST_CREDIT);
  expect([isTaken, agent.count(TYPE.EOF)]).toEqual([false, 0]);
  agent.send(TYPE.CREDIT, stream, new WireWriter().u32(100));
  await written;
  await agent.frame(TYPE.EOF);
  expect(received()).toBe(body.length);
  expect(agent.seen.at(-1)?.type).toBe(TYPE.EOF);
});

test('credit returns only when the consumer reads', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  for (let sent = 0; sent < FIRST_CREDIT; sent += 65_536) agent.data(stream, 1, Buffer.alloc(65_536));
  // A later answer shows that all of it has arrived.
  const pong = io.ping();
  agent.send(TYPE.RESULT, (await agent.frame(TYPE.CALL)).stream, new WireWriter().u64(1n).u32(0));
  await pong;
  expect(agent.count(TYPE.CREDIT)).toBe(0);
  const output = exec.output[Symbol.asyncIterator]();
  await output.next();
  await output.next();
  const credit = await agent.frame(TYPE.CREDIT);
  expect(credit.payload.readUInt32LE()).toBe(FIRST_CREDIT / 2);
});

test('a process continues when the consumer leaves the loop', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  agent.data(stream, 1, Buffer.alloc(65_536));
  for await (const _ of exec.output) break;
  for (let sent = 0; sent < 3; sent += 1) agent.data(stream, 1, Buffer.alloc(65_536));
  await until('all credit back', () => agent.count(TYPE.CREDIT) === 2);
  agent.exited(stream);
  expect((await exec.exit).exit_code).toBe(0);
});

test('long arguments are sent ahead in parts', async () => {
  const { io, agent } = await openScripted();
  const argv = ['x', ...Array.from({ length: 4 }, () => 'a'.repeat(100_000))];
  void io.exec({ ...spec, argv });
  const open = await agent.frame(TYPE.OPEN);
  const parts = agent.seen.filter((frame) => frame.type === TYPE.PART && frame.stream === open.stream);
  const all = Buffer.concat([...parts.map((part) => part.payload), open.payload.subarray(1)]);
  expect(open.payload[0]).toBe(KIND.exec);
  expect(all.toString('latin1').match(/a{100000}/g)).toHaveLength(4);
});

test('a file is read in order and ends only when all of it arrived', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) !== 'read') return;
    agent.send(TYPE.DATA, frame.stream, Buffer.concat([Buffer.from([0]), infoRecord('/a/b', 6).bytes()]));
    agent.data(frame.stream, 1, 'abc');
    agent.data(frame.stream, 1, 'def');
    agent.send(TYPE.RESULT, frame.stream, new WireWriter().u64(6n));
  });
  const { info, content } = await io.files.read('/a/b', { offset: 0 });
  expect(info).toEqual({
    path: '/a/b',
    name: 'b',
    size: 6,
    mode: '644',
    is_dir: false,
    type: 'file',
    mod_time: '1970-01-01T00:00:01.000Z',
  });
  expect((await buffer(content)).toString()).toBe('abcdef');
  expect(agent.count(TYPE.CANCEL)).toBe(0);
});

test('a file is written from a buffer and from a stream', async () => {
  const bodies: string[] = [];
  const { io, agent } = await openScripted((frame, agent) => {
    if (frame.type === TYPE.DATA) bodies.push(frame.payload.subarray(1).toString());
    if (frame.type === TYPE.EOF) agent.send(TYPE.RESULT, frame.stream, new WireWriter().u64(3n).u8(1));
  });
  expect(await io.files.write('/x', Buffer.from('abc'), { mode: 0o600 })).toEqual({ size: 3, atomic: true });
  const reader = argumentsOf(await agent.frame(TYPE.OPEN));
  expect([reader.str(), reader.u32(), reader.u8()]).toEqual(['/x', 0o600, 1]);
  await io.files.write('/y', Readable.from([Buffer.from('d'), Buffer.from('e')]), {});
  expect(bodies).toEqual(['abc', 'd', 'e']);
});

test('a body that fails cancels the write and rejects with its error', async () => {
  const { io, agent } = await openScripted();
  const body = new Readable({ read: () => undefined });
  body.push('half');
  const written = io.files.write('/x', body, {});
  await agent.frame(TYPE.DATA);
  body.destroy(new Error('client disconnected'));
  await expect(written).rejects.toThrow('client disconnected');
  await agent.frame(TYPE.CANCEL);
  expect(agent.count(TYPE.EOF)).toBe(0);
});

test('a refused write leaves the body alive, also when more data follows', async () => {
  const { io, agent } = await openScripted();
  const body = new Readable({ read: () => undefined });
  const written = io.files.write('/x', body, {});
  agent.error((await agent.frame(TYPE.OPEN)).stream, 28);
  await expect(written).rejects.toMatchObject({ code: 'resource_limit', status: 507 });
  body.push('more');
  await until('the body to be read', () => body.readableLength === 0);
  await new Promise((resolve) => setImmediate(resolve));
  expect([body.destroyed, agent.count(TYPE.DATA)]).toEqual([false, 0]);
});

test('a body is read no further than its pieces leave', async () => {
  const { io, agent } = await openScripted();
  const piece = Buffer.alloc(64 * 1024, 'x');
  const body = new Readable({ highWaterMark: 32 * piece.length, read: () => undefined });
  for (let count = 0; count < 16; count++) body.push(piece);
  body.push(null);
  const written = io.files.write('/x', body, {});
  const { stream } = await agent.frame(TYPE.OPEN);
  await until('the credit to be used up', () => agent.count(TYPE.DATA) === FIRST_CREDIT / piece.length);
  await new Promise((resolve) => setImmediate(resolve));
  expect(body.readableLength).toBe(10 * piece.length);
  agent.send(TYPE.CREDIT, stream, new WireWriter().u32(16 * piece.length));
  await until('its end', () => agent.count(TYPE.EOF) === 1);
  expect(agent.count(TYPE.DATA)).toBe(16);
  agent.send(TYPE.RESULT, stream, new WireWriter().u64(BigInt(16 * piece.length)).u8(1));
  expect((await written).size).toBe(16 * piece.length);
});

test('a shutdown ends what is in flight, and the session', async () => {
  const { io, agent, logger } = await openScripted((frame, agent) => {
    if (asks(frame) === 'shutdown') agent.send(TYPE.RESULT, frame.stream, Buffer.alloc(0));
  });
  const exec = io.exec(spec);
  await agent.frame(TYPE.OPEN);
  await io.shutdown();
  await io.closed;
  await expect(exec.exit).rejects.toMatchObject({ code: 'unavailable' });
  expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('records cut at any byte form a list', async () => {
  const { io } = await openScripted((frame, agent) => {
    if (asks(frame) !== 'list') return;
    const all = Buffer.concat(['/d', '/d/é', '/d/z'].map((path) => infoRecord(path).bytes()));
    for (const byte of all) agent.data(frame.stream, 0, Buffer.from([byte]));
    agent.send(TYPE.RESULT, frame.stream, new WireWriter().u32(3).u8(0));
  });
  expect((await io.files.list('/d', 2)).map((info) => info.path)).toEqual(['/d', '/d/é', '/d/z']);
});

test('a truncated list is an error, truncated matches are not', async () => {
  const { io } = await openScripted((frame, agent) => {
    if (frame.type !== TYPE.OPEN) return;
    const record = asks(frame) === 'list' ? infoRecord('/d') : new WireWriter().str('/d/\xff');
    agent.send(TYPE.DATA, frame.stream, Buffer.concat([Buffer.from([0]), record.bytes()]));
    agent.send(TYPE.RESULT, frame.stream, new WireWriter().u32(1).u8(1));
  });
  await expect(io.files.list('/', 1)).rejects.toMatchObject({ code: 'payload_too_large' });
  expect(await io.files.glob('/*', 1)).toEqual(['/d/ÿ']);
});

test('attach reports whether the tail was cut, then replays it', async () => {
  const { io } = await openScripted((frame, agent) => {
    if (asks(frame) !== 'attach') return;
    agent.data(frame.stream, 0, Buffer.from([1]));
    agent.data(frame.stream, 1, 'tail');
    agent.exited(frame.stream, -1);
  });
  const exec = await io.execs.attach('ex-9', false);
  expect([exec.truncated, await text(exec.output), (await exec.exit).exit_code]).toEqual([true, 'tail', -1]);
});

test('console lines are complete wherever frames cut them', async () => {
  const { io } = await openScripted((frame, agent) => {
    if (asks(frame) !== 'console') return;
    for (const byte of Buffer.from('eins\nzwölf\ndrei')) agent.data(frame.stream, 1, Buffer.from([byte]));
    agent.send(TYPE.RESULT, frame.stream);
  });
  const lines: string[] = [];
  for await (const line of io.console({ lines: 10, follow: false })) lines.push(line);
  expect(lines).toEqual(['eins', 'zwölf', 'drei']);
});

test('a connection half-closes and ends', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) === 'connect') agent.started(frame.stream);
    if (frame.type === TYPE.DATA) agent.data(frame.stream, 0, frame.payload.subarray(1));
    if (frame.type !== TYPE.EOF) return;
    agent.data(frame.stream, 0, '!');
    agent.send(TYPE.EOF, frame.stream, Buffer.from([0]));
    agent.send(TYPE.RESULT, frame.stream);
  });
  const duplex = await io.connect(8080);
  duplex.end('hello');
  expect((await buffer(duplex)).toString()).toBe('hello!');
  expect(agent.count(TYPE.CANCEL)).toBe(0);
});

test('destroying a connection cancels it', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) === 'connect') agent.started(frame.stream);
  });
  (await io.connect(80)).destroy();
  await agent.frame(TYPE.CANCEL);
});

test('a connection that ended on both sides still delivers its last bytes', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) !== 'connect') return;
    agent.started(frame.stream);
    agent.send(TYPE.EOF, frame.stream, Buffer.from([0]));
  });
  const duplex = await io.connect(80);
  await once(duplex.resume(), 'end');
  duplex.end('last');
  await once(duplex, 'close');
  const { stream } = await agent.frame(TYPE.EOF);
  agent.send(TYPE.RESULT, stream);
  const pong = io.ping();
  agent.send(TYPE.RESULT, (await agent.frame(TYPE.CALL)).stream, new WireWriter().u64(1n).u32(0));
  await pong;
  expect(agent.count(TYPE.CANCEL)).toBe(0);
});

test('a deadline is sent as the remaining time, and applies once the agent confirms it', async () => {
  const { io, agent } = await openScripted((frame) => agent.send(TYPE.RESULT, frame.stream), 1);
  await io.setDeadline?.(1500.2);
  await io.setDeadline?.(-5);
  await io.setDeadline?.(undefined);
  const sent = agent.seen.map(({ payload }) => [payload[0], payload.readBigUInt64LE(1)]);
  expect(sent).toEqual([
    [METHOD.deadline, 1501n],
    [METHOD.deadline, 0n],
    [METHOD.deadline, 2n ** 64n - 1n],
  ]);
});

test('a deadline that the agent does not confirm is unavailable', async () => {
  const { io, clock } = await openScripted(undefined, 1);
  const failed = io.setDeadline?.(1000);
  await clock.advance(3000);
  await expect(failed).rejects.toMatchObject({ code: 'unavailable' });
});

test('an agent that does not announce deadlines gets none', async () => {
  const { io } = await openScripted();
  expect(io.setDeadline).toBeUndefined();
});
