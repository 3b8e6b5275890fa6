// What lasts while the agent answers, and ends when it does not: commands, views, tunnels, the console.
import { expect, test } from 'vitest';
import type { ExecSpec } from '../../../src/agent/io.ts';
import { TYPE } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import { openScripted, type ScriptedAgent } from '../../support/scripted/agent.ts';
import { until } from '../../support/until.ts';

const spec: ExecSpec = { exec_id: 'ex-1', argv: ['sleep', '1d'], label: 'sleep', env: {} };
const QUIET_MS = 10_000;
const PONG_MS = 10_000;

const pings = (agent: ScriptedAgent) => agent.seen.filter(({ type }) => type === TYPE.CALL);

async function pinged(agent: ScriptedAgent, count: number): Promise<number> {
  await until(`${count} pings`, () => pings(agent).length === count);
  return pings(agent).at(-1)?.stream ?? 0;
}

const answer = (agent: ScriptedAgent, stream: number) =>
  agent.send(TYPE.RESULT, stream, new WireWriter().u64(1n).u32(1));

test('a command without a deadline ends when two pings in a row get no answer', async () => {
  const { io, agent, clock } = await openScripted();
  const exec = io.exec(spec);
  agent.started((await agent.frame(TYPE.OPEN)).stream);
  await exec.started;
  await clock.advance(QUIET_MS);
  await pinged(agent, 1);
  await clock.advance(PONG_MS);
  await pinged(agent, 2);
  await clock.advance(PONG_MS);
  await expect(exec.exit).rejects.toMatchObject({ code: 'unavailable' });
  await agent.frame(TYPE.CANCEL);
  expect(clock.pending()).toBe(0);
});

test('streams stay open while pings are answered, also when one of two is lost', async () => {
  const { io, agent, clock } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  let count = 0;
  for (const isLost of [false, true, false, true]) {
    await clock.advance(QUIET_MS);
    await pinged(agent, ++count);
    if (isLost) {
      await clock.advance(PONG_MS);
      await pinged(agent, ++count);
    }
    answer(agent, pings(agent).at(-1)?.stream ?? 0);
    await until('the next look', () => clock.pending() === 1);
  }
  agent.exited(stream, 5);
  expect((await exec.exit).exit_code).toBe(5);
  expect(clock.pending()).toBe(0);
});

test('one ping serves all open streams', async () => {
  const { io, agent, clock } = await openScripted();
  const lasting = [io.exec(spec).exit, io.connect(80), io.execs.attach('ex-1', true)];
  const lines = io.console({ lines: 1, follow: true })[Symbol.asyncIterator]().next();
  await until('all to be asked for', () => agent.count(TYPE.OPEN) === 4);
  for (let n = 1; n <= 2; n++) {
    await clock.advance(n === 1 ? QUIET_MS : PONG_MS);
    await pinged(agent, n);
  }
  await Promise.all([
    clock.advance(PONG_MS),
    ...[...lasting, lines].map((each) => expect(each).rejects.toMatchObject({ code: 'unavailable' })),
  ]);
});

test('any byte from the agent counts as liveness', async () => {
  const { io, agent, clock } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  const output = exec.output[Symbol.asyncIterator]();
  for (let n = 1; n <= 3; n++) {
    await clock.advance(QUIET_MS);
    await pinged(agent, n);
    agent.data(stream, 1, `${n}`);
    expect(String((await output.next()).value?.data)).toBe(`${n}`);
    await clock.advance(PONG_MS);
  }
  agent.exited(stream, 5);
  expect((await exec.exit).exit_code).toBe(5);
});

test('a silent agent is given up also when no ping can be sent', async () => {
  const { io, agent, clock } = await openScripted();
  const exec = io.exec(spec);
  await agent.frame(TYPE.OPEN);
  const calls = Array.from({ length: 1100 }, () => io.ping().catch(() => undefined));
  await clock.advance(QUIET_MS + 2 * PONG_MS);
  await expect(exec.exit).rejects.toMatchObject({ code: 'unavailable' });
  await Promise.all(calls);
});

test('a session over a link ends when two pings in a row get no answer: the next call opens another', async () => {
  const { io, agent, clock } = await openScripted(undefined, undefined, true);
  const exec = io.exec(spec);
  agent.started((await agent.frame(TYPE.OPEN)).stream);
  await exec.started;
  await clock.advance(QUIET_MS);
  for (const count of [1, 2]) {
    await pinged(agent, count);
    await clock.advance(PONG_MS);
  }
  await expect(exec.exit).rejects.toMatchObject({ code: 'unavailable' });
  await io.closed;
  expect(clock.pending()).toBe(0);
});

test('a call that got no answer in time makes a link doubtful, and pings decide', async () => {
  const { io, agent, clock } = await openScripted(undefined, undefined, true);
  const late = async () => {
    const before = pings(agent).length;
    const call = io.files.stat('/a');
    await pinged(agent, before + 1);
    await clock.advance(30_000);
    await expect(call).rejects.toMatchObject({ code: 'unavailable' });
    await pinged(agent, before + 2);
    return before + 2;
  };
  await late();
  answer(agent, pings(agent).at(-1)?.stream ?? 0);
  await until('nothing to wait for', () => clock.pending() === 0);
  const count = await late();
  await clock.advance(PONG_MS);
  await pinged(agent, count + 1);
  await clock.advance(PONG_MS);
  await io.closed;
});
