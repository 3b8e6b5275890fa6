// Several hosts on one session of the real agent, as control planes have it on a worker. What one host says wrongly, leaves
// unread or never ends costs that host its link, and the others nothing.
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { encodeFrame } from '../../src/agent/frame.ts';
import { openWire } from '../../src/agent/handshake.ts';
import type { AgentIo, Exec, SandboxIo } from '../../src/agent/io.ts';
import { ARGUMENTS_MAX, FIRST_CREDIT, METHOD, TYPE } from '../../src/agent/protocol.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { seededRandom, silentLogger } from '../support/fakes/ports.ts';
import { rawExec } from '../support/hosts/raw-exec.ts';
import { type RealAgent, startAgent, startRelayedAgent } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const PATH = process.env.PATH ?? '';
const shell = (id: string, script: string) => ({
  exec_id: id,
  argv: ['sh', '-c', script],
  label: script,
  env: { PATH },
});
const deps = { clock: realClock(), random: realRandom(), logger: silentLogger };

async function lengthOf(output: Exec['output']): Promise<number> {
  let length = 0;
  for await (const { data } of output) length += data.length;
  return length;
}

async function works(io: SandboxIo, id = 'ex-works'): Promise<void> {
  expect((await io.exec(shell(id, 'exit 6')).exit).exit_code).toBe(6);
}

/** A host that says what it likes. */
async function rawHost(agent: RealAgent) {
  const stream = await agent.dial();
  const { tag } = await openWire({ stream, clock: deps.clock, random: deps.random });
  stream.resume().on('error', () => undefined);
  return { stream, tag };
}

const ended = (stream: Socket) =>
  until('the end of the link', () => stream.destroyed || stream.readableEnded);

const frame = (type: number, stream: number, tag: number, payload: Buffer = Buffer.alloc(0)) =>
  encodeFrame({ type, stream, tag }, payload);

describeWith(['cc'], 'several hosts on one session', () => {
  test('run commands side by side; a host that ends takes only its own attached command with it', async () => {
    const agent = await startRelayedAgent();
    const [first, second] = [await agent.open(), await agent.open()];
    const ofFirst = first.exec(shell('ex-1', 'sleep 4000'));
    const ofSecond = second.exec(shell('ex-2', 'read line; echo "got $line"'), undefined);
    await Promise.all([ofFirst.started, ofSecond.started]);
    await first.exec({ ...shell('ex-d', 'sleep 4001'), detach: true }).exit;
    const states = async () =>
      Object.fromEntries((await second.execs.list()).map(({ exec_id, state }) => [exec_id, state]));
    expect(await states()).toMatchObject({ 'ex-1': 'running', 'ex-d': 'running' });
    first.close();
    await expect(ofFirst.exit).rejects.toMatchObject({ code: 'unavailable' });
    await until('the end of the attached command', async () => (await states())['ex-1'] === 'exited');
    expect((await states())['ex-d']).toBe('running');
    await second.execs.signal('ex-d', 'SIGKILL');
    await ofSecond.exit;
    await works(second);
  });

  test('read a file that another host wrote', async () => {
    const agent = await startRelayedAgent();
    const [first, second] = [await agent.open(), await agent.open()];
    const bytes = seededRandom(3).bytes(3_000_000);
    await first.files.write(join(agent.folder, 'f'), bytes, {});
    const { content } = await second.files.read(join(agent.folder, 'f'), { offset: 0 });
    const parts: Buffer[] = [];
    for await (const part of content) parts.push(part as Buffer);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });

  test('send arguments in parts without mixing them', async () => {
    const agent = await startRelayedAgent();
    const hosts = [await agent.open(), await agent.open()];
    const lengths = hosts.map(async (io, index) => {
      const argv = Array.from({ length: 12 }, () => String(index).repeat(100_000));
      const exec = io.exec({
        exec_id: `ex-${index}`,
        argv: ['printf', '%s', ...argv],
        label: 'p',
        env: { PATH },
      });
      let sum = 0;
      for await (const { data } of exec.output) {
        sum += data.length;
        expect(data.every((byte) => byte === 48 + index)).toBe(true);
      }
      return sum;
    });
    expect(await Promise.all(lengths)).toEqual([1_200_000, 1_200_000]);
  });

  test.each([
    ['seed', METHOD.seed],
    ['shutdown', METHOD.shutdown],
    ['deadline', METHOD.deadline],
  ])('refuse %s without a change', async (_name, method) => {
    const agent = await startRelayedAgent();
    const { stream, tag } = await rawHost(agent);
    const answers: Buffer[] = [];
    stream.on('data', (chunk) => answers.push(chunk));
    stream.write(frame(TYPE.CALL, 7, tag, Buffer.from([method])));
    await until('the refusal', () => Buffer.concat(answers).length >= 17);
    const answer = Buffer.concat(answers);
    expect([answer[4], answer.readUInt32LE(5), answer.readUInt32LE(9)]).toEqual([TYPE.ERROR, 7, 1]);
    await works(await agent.open());
  });

  test.each<[string, (tag: number) => Buffer]>([
    ['random bytes', () => seededRandom(5).bytes(5000)],
    ['a wrong tag', (tag) => frame(TYPE.CALL, 1, (tag ^ 1) >>> 0, Buffer.from([METHOD.ping]))],
    ['a length out of range', () => Buffer.from([1, 0, 0, 0])],
    ['an unknown type', (tag) => frame(200, 1, tag)],
    ['a second HELLO', (tag) => frame(TYPE.HELLO, 0, tag, Buffer.alloc(21, 1))],
    ['a frame of the agent', (tag) => frame(TYPE.RESULT, 1, tag)],
    ['stream 0', (tag) => frame(TYPE.CALL, 0, tag, Buffer.from([METHOD.ping]))],
    ['an OPEN without a kind', (tag) => frame(TYPE.OPEN, 1, tag)],
    [
      'a stream number twice',
      (tag) => {
        const open = frame(TYPE.OPEN, 1, tag, rawExec(['sleep', '4003']));
        return Buffer.concat([open, open]);
      },
    ],
    ['DATA on a strange channel', (tag) => frame(TYPE.DATA, 9, tag, Buffer.from([3, 1]))],
    ['DATA without a channel', (tag) => frame(TYPE.DATA, 9, tag)],
    ['a malformed EOF', (tag) => frame(TYPE.EOF, 9, tag, Buffer.from([0, 0]))],
    ['a malformed CREDIT', (tag) => frame(TYPE.CREDIT, 9, tag, Buffer.from([0]))],
    ['a malformed CANCEL', (tag) => frame(TYPE.CANCEL, 9, tag, Buffer.from([0]))],
    [
      'DATA beyond the credit',
      (tag) => {
        const data = frame(TYPE.DATA, 1, tag, Buffer.alloc(65_537));
        const count = Math.ceil(FIRST_CREDIT / 65_536) + 1;
        return Buffer.concat([
          frame(TYPE.OPEN, 1, tag, rawExec(['sleep', '4003'])),
          ...Array.from({ length: count }, () => data),
        ]);
      },
    ],
    [
      'more credit than there is',
      (tag) => {
        const credit = frame(TYPE.CREDIT, 1, tag, Buffer.from([255, 255, 255, 255]));
        return Buffer.concat([frame(TYPE.OPEN, 1, tag, rawExec(['sleep', '4003'])), credit]);
      },
    ],
    [
      'arguments without an end',
      (tag) => {
        const part = frame(TYPE.PART, 5, tag, Buffer.alloc(65_000));
        return Buffer.concat(Array.from({ length: Math.ceil(ARGUMENTS_MAX / 65_000) + 1 }, () => part));
      },
    ],
    [
      'arguments of many streams',
      (tag) => {
        const count = Math.ceil((2 * ARGUMENTS_MAX) / 65_000) + 1;
        return Buffer.concat(
          Array.from({ length: count }, (_, id) => frame(TYPE.PART, id + 1, tag, Buffer.alloc(65_000))),
        );
      },
    ],
  ])('on %s end only the link that sent it', async (_name, bytes) => {
    const agent = await startRelayedAgent();
    const other = await agent.open();
    const running = other.exec(shell('ex-other', 'sleep 4002'));
    await running.started;
    const { stream, tag } = await rawHost(agent);
    stream.write(bytes(tag));
    await ended(stream);
    await works(other);
    const raw = async () => (await other.execs.list()).find(({ exec_id }) => exec_id === 'ex-raw');
    await until('the end of what it ran', async () => (await raw())?.state !== 'running');
    running.kill();
    await running.exit;
    await works(await agent.open(), 'ex-new');
  });

  test('close the stream of a host that opens no session', { timeout: 20_000 }, async () => {
    const agent = await startRelayedAgent();
    const silent = await agent.dial();
    const wrong = await agent.dial();
    wrong.write(Buffer.alloc(34, 7));
    await ended(wrong.resume());
    await ended(silent.resume());
    await works(await agent.open());
  });

  test('run commands at full speed beside a host that does not read', async () => {
    const agent = await startRelayedAgent();
    const [stalled, reader] = [await agent.open(), await agent.open()];
    const execs = Array.from({ length: 40 }, (_, index) =>
      stalled.exec(shell(`ex-s${index}`, 'head -c 30000000 /dev/zero')),
    );
    await Promise.all(execs.map(({ started }) => started));
    const exec = reader.exec(shell('ex-r', 'head -c 20000000 /dev/zero'));
    expect(await lengthOf(exec.output)).toBe(20_000_000);
    await reader.ping();
    await stalled.ping();
    stalled.close();
    const running = async () =>
      (await reader.execs.list()).filter(
        ({ exec_id, state }) => exec_id.startsWith('ex-s') && state === 'running',
      );
    await until('the end of its commands', async () => (await running()).length === 0);
  });

  test('leave a quarter of the operations to the others', async () => {
    const agent = await startRelayedAgent();
    const [greedy, other] = [await agent.open(), await agent.open()];
    const tries = Array.from({ length: 200 }, (_, index) => greedy.exec(shell(`ex-g${index}`, 'sleep 4004')));
    const outcomes = await Promise.allSettled(tries.map(({ started }) => started));
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(200 - 192);
    expect(refused[0]).toMatchObject({ reason: { code: 'resource_limit' } });
    await works(other);
    greedy.close();
    await until('its places to be free', async () =>
      (await other.execs.list()).every(({ state }) => state !== 'running'),
    );
    const again = await agent.open();
    await works(again, 'ex-again');
  });

  test('end every link with the session', async () => {
    const agent = await startRelayedAgent();
    const [first, second] = [await agent.open(), await agent.open()];
    process.kill(agent.pid, 'SIGKILL');
    await Promise.all([first.closed, second.closed]);
  });

  test('pass on the welcome of the agent unchanged', async () => {
    const agent = await startAgent();
    const stream = await agent.dial();
    const direct = await openWire({ stream, secret: agent.secret, clock: deps.clock, random: deps.random });
    stream.destroy();
    const io = await agent.open();
    const relayed = await openWire({ stream: await linkTo(io), clock: deps.clock, random: deps.random });
    expect([relayed.version, relayed.build, relayed.boot]).toEqual([
      direct.version,
      direct.build,
      direct.boot,
    ]);
  });
});

async function linkTo(io: AgentIo): Promise<Socket> {
  const path = join(temporaryFolder(), 'link.sock');
  const server = createServer({ allowHalfOpen: true }, (stream) => void io.relay(stream)).listen(path);
  onTestFinished(() => void server.close());
  return connect({ path, allowHalfOpen: true });
}
