// A recorded session of the agent, cut at every byte towards the host: every call settles with what was sent or a typed
// error, and nothing half goes out as whole. And the other half of the cut, left in a stream, harms no new session.
import { type Duplex, duplexPair } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { TYPE } from '../../../src/agent/protocol.ts';
import { openSession } from '../../../src/agent/session.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { fakeClock, seededRandom, silentLogger } from '../../support/fakes/ports.ts';
import { asks, infoRecord, ScriptedAgent, SECRET, type SeenFrame } from '../../support/scripted/agent.ts';
import { until } from '../../support/until.ts';

const OUT = 'standard output';
const CONTENT = 'content of the file';

const pair = () => duplexPair({ readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
const open = (stream: Duplex) =>
  openSession({ stream, secret: SECRET, clock: fakeClock(), random: seededRandom(), logger: silentLogger });

function answer(agent: ScriptedAgent, frame: SeenFrame): void {
  const { stream } = frame;
  const kind = asks(frame);
  if (kind === 'exec') {
    agent.started(stream);
    agent.data(stream, 1, OUT);
    agent.exited(stream, 4);
  }
  if (kind === 'stat') agent.send(TYPE.RESULT, stream, infoRecord('/a', 5));
  if (kind === 'mkdir') agent.error(stream, 17);
  if (kind === 'read') {
    agent.send(
      TYPE.DATA,
      stream,
      Buffer.concat([Buffer.from([0]), infoRecord('/a', CONTENT.length).bytes()]),
    );
    agent.data(stream, 1, CONTENT);
    agent.send(TYPE.RESULT, stream, new WireWriter().u64(BigInt(CONTENT.length)));
  }
}

async function outputOf(exec: ReturnType<SandboxIo['exec']>): Promise<string> {
  let all = '';
  for await (const { data } of exec.output) all += data.toString();
  return all;
}

/** The same calls, in the same order, every time. */
function useAll(io: SandboxIo) {
  const exec = io.exec({ exec_id: 'ex-1', argv: ['x'], label: 'x', env: {} });
  return Promise.allSettled([
    exec.exit.then((exit) => exit.exit_code),
    outputOf(exec),
    io.files.stat('/a').then((info) => info.size),
    io.files.mkdir('/a', { parents: false }),
    io.files.read('/a', { offset: 0 }).then(async ({ content }) => (await buffer(content)).toString()),
  ]);
}

interface Recording {
  welcome: Buffer;
  answers: Buffer;
}

async function record(): Promise<Recording> {
  const [stream, guest] = pair();
  const written: Buffer[] = [];
  const write = guest.write.bind(guest);
  guest.write = ((chunk: Buffer) => {
    written.push(Buffer.from(chunk));
    return write(chunk);
  }) as typeof guest.write;
  const agent = new ScriptedAgent(guest);
  agent.onFrame = (frame) => answer(agent, frame);
  const settled = await useAll(await open(stream));
  expect(settled.map((each) => each.status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  const [welcome = Buffer.alloc(0), ...answers] = written;
  return { welcome, answers: Buffer.concat(answers) };
}

/** A guest that says `welcome`, waits until the calls were made, then says `answers` and ends. */
async function replay(welcome: Buffer, answers: Buffer) {
  const [stream, guest] = pair();
  let heard = 0;
  guest.on('data', (chunk) => {
    heard += chunk.length;
  });
  guest.write(welcome);
  const io = await open(stream);
  const opened = heard;
  const settled = useAll(io);
  await until('the calls', () => heard > opened);
  guest.end(answers);
  return await settled;
}

test('answers cut at every byte settle every call, and none counts as complete', {
  timeout: 120_000,
}, async () => {
  const { welcome, answers } = await record();
  const whole = [4, OUT, 5, undefined, CONTENT];
  for (let cut = 0; cut <= answers.length; cut += 1) {
    for (const [index, each] of (await replay(welcome, answers.subarray(0, cut))).entries()) {
      if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(ServiceError);
      else if (index === 1) expect(OUT.startsWith(String(each.value))).toBe(true);
      else expect(each.value).toBe(whole[index]);
    }
  }
});

test('a welcome cut at any byte opens no session', async () => {
  const { welcome } = await record();
  for (let cut = 0; cut < welcome.length; cut += 1) {
    const [stream, guest] = pair();
    guest.resume().end(welcome.subarray(0, cut));
    await expect(open(stream)).rejects.toMatchObject({ code: 'unavailable' });
  }
});

test('leftovers of any cut in the stream harm no new session', async () => {
  const { answers } = await record();
  for (let cut = 0; cut < answers.length; cut += 1) {
    const [stream, guest] = pair();
    guest.write(answers.subarray(cut));
    const agent = new ScriptedAgent(guest);
    agent.onFrame = (frame) => answer(agent, frame);
    expect((await (await open(stream)).files.stat('/a')).size).toBe(5);
  }
});
