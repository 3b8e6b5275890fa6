// Aborts, deadlines and limits: a call settles when it must, even when the agent is silent; its number stays taken
// until the agent has answered.
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { SandboxFiles } from '../../../src/agent/io.ts';
import { CALLS_MAX, STREAMS_MAX, TYPE } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import { asks, infoRecord, openScripted } from '../../support/scripted/agent.ts';
import { until } from '../../support/until.ts';

const spec = { exec_id: 'ex-1', argv: ['true'], label: 'true', env: {} };
const reason = new Error('enough');

test('an abort rejects at once with its reason and notifies the agent', async () => {
  const { io, agent } = await openScripted();
  const abort = new AbortController();
  const { signal } = abort;
  const exec = io.exec(spec, signal);
  const others = [
    io.files.stat('/a', signal),
    io.files.list('/', 1, signal),
    io.connect(80, signal),
    io.files.write('/a', Buffer.alloc(1), {}, signal),
  ];
  await agent.frame(TYPE.CALL);
  abort.abort(reason);
  for (const each of [exec.exit, exec.started, ...others]) await expect(each).rejects.toBe(reason);
  for await (const _ of exec.output) expect.unreachable();
  await agent.frame(TYPE.CANCEL, 5);
  expect(agent.count(TYPE.CANCEL)).toBe(5);
});

test('an earlier abort sends nothing', async () => {
  const { io, agent } = await openScripted();
  await expect(io.exec(spec, AbortSignal.abort(reason)).exit).rejects.toBe(reason);
  await expect(io.files.stat('/', AbortSignal.abort(reason))).rejects.toBe(reason);
  void io.ping().catch(() => undefined);
  await agent.frame(TYPE.CALL);
  expect(agent.seen).toHaveLength(1);
});

test('the number of a cancelled stream is reused only after its answer, and late bytes are dropped', async () => {
  const { io, agent } = await openScripted();
  const abort = new AbortController();
  const exec = io.exec(spec, abort.signal);
  const { stream } = await agent.frame(TYPE.OPEN);
  abort.abort(reason);
  await expect(exec.exit).rejects.toBe(reason);
  agent.data(stream, 1, 'late');
  agent.error(stream, 125);
  const pong = io.ping();
  agent.send(TYPE.RESULT, (await agent.frame(TYPE.CALL)).stream, new WireWriter().u64(1n).u32(0));
  await pong;
});

test('an abort during the content of a file destroys it with the reason', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) === 'read')
      agent.send(TYPE.DATA, frame.stream, Buffer.concat([Buffer.from([0]), infoRecord('/a', 9).bytes()]));
  });
  const abort = new AbortController();
  const { content } = await io.files.read('/a', { offset: 0 }, abort.signal);
  const all = buffer(content);
  abort.abort(reason);
  await expect(all).rejects.toBe(reason);
  await agent.frame(TYPE.CANCEL);
});

test('destroying the content cancels the read', async () => {
  const { io, agent } = await openScripted((frame, agent) => {
    if (asks(frame) === 'read')
      agent.send(TYPE.DATA, frame.stream, Buffer.concat([Buffer.from([0]), infoRecord('/a', 9).bytes()]));
  });
  (await io.files.read('/a', { offset: 0 })).content.destroy();
  await agent.frame(TYPE.CANCEL);
});

test.each([
  ['ping', 2000],
  ['stat', 30_000],
] as const)('%s is given up after its deadline', async (name, ms) => {
  const { io, agent, clock } = await openScripted();
  const calls = {
    ping: () => io.ping(),
    stat: () => io.files.stat('/a'),
  };
  let outcome = 'waiting';
  const call = calls[name]().catch((error: { code: string }) => {
    outcome = error.code;
  });
  await agent.frame(TYPE.CALL);
  await clock.advance(ms - 1);
  expect(outcome).toBe('waiting');
  await clock.advance(1);
  await call;
  expect([outcome, clock.pending()]).toEqual(['unavailable', 0]);
});

const lasting = {
  list: (files: SandboxFiles) => files.list('/', 9),
  glob: (files: SandboxFiles) => files.glob('/**', 10),
  move: (files: SandboxFiles) => files.move('/a', '/b'),
  remove: (files: SandboxFiles) => files.remove('/a', true),
  write: (files: SandboxFiles) => files.write('/a', Buffer.alloc(1), {}),
  read: async (files: SandboxFiles) => buffer((await files.read('/a', { offset: 0 })).content),
};

/** How it ended, when it has. */
function watched(call: Promise<unknown>): { outcome: string; over: Promise<void> } {
  const seen = { outcome: 'waiting', over: Promise.resolve() };
  seen.over = call.then(
    () => undefined,
    ({ code }: { code: string }) => {
      seen.outcome = code;
    },
  );
  return seen;
}

test.each(Object.entries(lasting))('%s is given up by an agent that answers no ping', async (name, begin) => {
  const { io, agent, clock } = await openScripted((frame, agent) => {
    if (asks(frame) === 'read') agent.data(frame.stream, 0, infoRecord('/a', 9).bytes());
  });
  const call = watched(begin(io.files));
  await until('the read to have started', () => agent.seen.length > 0 && clock.pending() > 0);
  // The first facts of a read lift its first deadline.
  if (name === 'read') await until('the answer to be read', () => clock.pending() === 1);
  await clock.advance(10_000);
  await until('a ping', () => agent.seen.some((frame) => asks(frame) === 'ping'));
  await clock.advance(19_999);
  expect(call.outcome).toBe('waiting');
  await clock.advance(1);
  await call.over;
  expect([call.outcome, clock.pending()]).toEqual(['unavailable', 0]);
});

test('a long operation lasts until its own deadline while the agent answers pings', async () => {
  const { io, agent, clock } = await openScripted((frame, agent) => {
    if (asks(frame) === 'ping') agent.send(TYPE.RESULT, frame.stream, new WireWriter().u64(1n).u32(0));
  });
  const call = watched(io.files.remove('/a', true));
  await agent.frame(TYPE.CALL);
  for (let turn = 1; turn < 60; turn += 1) {
    await clock.advance(10_000);
    // Its answer comes behind that of the ping before it.
    await io.ping();
    expect([call.outcome, agent.count(TYPE.CALL)]).toEqual(['waiting', 1 + 2 * turn]);
  }
  await clock.advance(10_000);
  await call.over;
  expect(call.outcome).toBe('unavailable');
});

test('the session gives up an exec 5 s after its own deadline', async () => {
  const { io, agent, clock } = await openScripted();
  const exec = io.exec({ ...spec, timeoutMs: 1000 });
  await agent.frame(TYPE.OPEN);
  await clock.advance(5999);
  expect(agent.count(TYPE.CANCEL)).toBe(0);
  await clock.advance(1);
  await expect(exec.exit).rejects.toMatchObject({ code: 'unavailable' });
});

test('kill sends one cancel, and the answer of the agent ends the exec', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  exec.kill();
  exec.kill();
  await agent.frame(TYPE.CANCEL);
  agent.data(stream, 1, 'last words');
  agent.error(stream, 125);
  expect(await exec.exit).toMatchObject({ exit_code: 137, signal: 'SIGKILL' });
  expect(agent.count(TYPE.CANCEL)).toBe(1);
});

test('arguments that fit no argument list are refused before they are sent', async () => {
  const { io, agent } = await openScripted();
  const refused = { code: 'bad_request' };
  const long = 'a'.repeat(131_072);
  const many = Array.from({ length: 20 }, () => 'a'.repeat(120_000));
  for (const change of [
    { argv: ['x', long] },
    { argv: ['x', ...many] },
    { argv: [] },
    { argv: ['a\0b'] },
    { env: { A: long } },
    { env: { 'A=B': '1' } },
    { env: { '': '1' } },
    { workdir: '/a\0' },
  ]) {
    const exec = io.exec({ ...spec, ...change });
    await expect(exec.exit).rejects.toMatchObject(refused);
    await expect(exec.started).rejects.toMatchObject(refused);
  }
  await expect(io.connect(0)).rejects.toMatchObject(refused);
  await expect(io.execs.signal('ex-1', 'SIGWHAT')).rejects.toMatchObject(refused);
  const fits = io.exec({ ...spec, argv: ['x', 'a'.repeat(131_071)] });
  fits.exit.catch(() => undefined);
  await agent.frame(TYPE.OPEN);
});

test('streams and calls beyond the limit of a session are refused before they are sent', async () => {
  const { io, agent } = await openScripted();
  for (let count = 0; count < STREAMS_MAX; count += 1) void io.exec(spec);
  await expect(io.exec(spec).exit).rejects.toMatchObject({ code: 'resource_limit' });
  const calls = Array.from({ length: CALLS_MAX + 1 }, () =>
    io.files.stat('/a').catch((error: { code: string }) => error.code),
  );
  expect(await calls.at(-1)).toBe('resource_limit');
  agent.exited((await agent.frame(TYPE.OPEN)).stream);
  await agent.frame(TYPE.CALL);
  agent.send(TYPE.RESULT, (await agent.frame(TYPE.CALL)).stream, infoRecord('/a'));
  await calls[0];
  expect(
    await Promise.race([
      io.exec(spec).exit.catch((error) => error.code),
      io.files.stat('/').catch((error) => error.code),
      Promise.resolve('accepted'),
    ]),
  ).toBe('accepted');
});

test('close ends all work in flight, and is safe twice', async () => {
  const { io, agent, logger } = await openScripted();
  const stat = io.files.stat('/a');
  await agent.frame(TYPE.CALL);
  io.close();
  io.close();
  await io.closed;
  await expect(stat).rejects.toMatchObject({ code: 'unavailable' });
  expect(logger.lines.filter((line) => line.level === 'warn')).toEqual([]);
});
