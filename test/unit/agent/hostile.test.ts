// An agent that lies: every break of the protocol ends the session with `unavailable`, and never anything worse.
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FIRST_CREDIT, TYPE } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import {
  asks,
  infoRecord,
  openScripted,
  type ScriptedAgent,
  type SeenFrame,
} from '../../support/scripted/agent.ts';

const spec = { exec_id: 'ex-1', argv: ['true'], label: 'true', env: {} };
const u32 = (...values: number[]) => values.reduce((writer, value) => writer.u32(value), new WireWriter());
const lost = { code: 'unavailable', message: 'The sandbox stopped answering.' };

type Lie = (agent: ScriptedAgent, stream: number) => void;

const LIES: Record<string, Lie> = {
  'a wrong tag': (agent, stream) => agent.send(TYPE.STARTED, stream, u32(1), 0x11111111),
  'a length out of range': (agent) => agent.wire.write(Buffer.from([255, 255, 255, 255])),
  'bytes of nothing': (agent) => agent.wire.write(Buffer.alloc(100)),
  'an unknown stream': (agent) => agent.data(77, 1, 'x'),
  'a type of the host': (agent, stream) => agent.send(TYPE.OPEN, stream, u32(1)),
  'an unknown type': (agent, stream) => agent.send(99, stream),
  'DATA without a channel': (agent, stream) => agent.send(TYPE.DATA, stream),
  'DATA on a strange channel': (agent, stream) => agent.data(stream, 7, 'x'),
  'DATA on the input channel': (agent, stream) => agent.data(stream, 0, 'x'),
  'DATA beyond the credit': (agent, stream) => {
    for (let sent = 0; sent <= FIRST_CREDIT; sent += 65_536) agent.data(stream, 1, Buffer.alloc(65_536));
  },
  'STARTED twice': (agent, stream) => {
    agent.started(stream);
    agent.started(stream);
  },
  'STARTED after DATA': (agent, stream) => {
    agent.data(stream, 1, 'x');
    agent.started(stream);
  },
  'a cut STARTED': (agent, stream) => agent.send(TYPE.STARTED, stream, Buffer.alloc(1)),
  'a cut RESULT': (agent, stream) => agent.send(TYPE.RESULT, stream, u32(0, 0)),
  'a RESULT that is too long': (agent, stream) =>
    agent.send(TYPE.RESULT, stream, u32(0, 0).u8(0).u64(1n).u8(1)),
  'an absurd exit code': (agent, stream) => agent.exited(stream, 70_000),
  'a negative exit code': (agent, stream) => agent.exited(stream, -2),
  'an absurd signal': (agent, stream) => agent.exited(stream, 1, 1_000_000),
  'a cut ERROR': (agent, stream) => agent.send(TYPE.ERROR, stream, u32(2)),
  'an ERROR whose text is not there': (agent, stream) => agent.send(TYPE.ERROR, stream, u32(2, 0xffff_ffff)),
  'a cut CREDIT': (agent, stream) => agent.send(TYPE.CREDIT, stream, Buffer.alloc(3)),
  'a second WELCOME': (agent) => agent.send(TYPE.WELCOME, 0, Buffer.alloc(40)),
};

describe.each(Object.entries(LIES))('%s', (_, lie) => {
  test('ends the session and all work in flight', async () => {
    const { io, agent, clock } = await openScripted();
    const exec = io.exec(spec);
    const stat = io.files.stat('/x');
    const connection = io.connect(80);
    const { stream } = await agent.frame(TYPE.OPEN);
    lie(agent, stream);
    await expect(exec.exit).rejects.toMatchObject(lost);
    await expect(stat).rejects.toMatchObject(lost);
    await expect(connection).rejects.toMatchObject(lost);
    await io.closed;
    await expect(io.files.stat('/y')).rejects.toMatchObject(lost);
    expect(clock.pending()).toBe(0);
  });
});

test('a RESULT twice ends the session', async () => {
  const { io, agent } = await openScripted();
  const exec = io.exec(spec);
  const { stream } = await agent.frame(TYPE.OPEN);
  agent.exited(stream);
  agent.exited(stream);
  expect((await exec.exit).exit_code).toBe(0);
  await io.closed;
});

/** Answers every `kind` so. */
function answering(kind: string, answer: (agent: ScriptedAgent, frame: SeenFrame) => void) {
  return openScripted((frame, agent) => {
    if (asks(frame) === kind) answer(agent, frame);
  });
}

const channel0 = (bytes: Buffer) => Buffer.concat([Buffer.from([0]), bytes]);

test.each([
  ['an invalid type', new WireWriter().str('/a').u8(9).u32(0).u64(0n).u64(0n).str('')],
  ['an invalid mode', new WireWriter().str('/a').u8(1).u32(0xffff_ffff).u64(0n).u64(0n).str('')],
  ['an endless string', new WireWriter().u32(0x7fff_ffff)],
])('file metadata with %s ends the session', async (_, record) => {
  const { io } = await answering('stat', (agent, { stream }) => agent.send(TYPE.RESULT, stream, record));
  await expect(io.files.stat('/a')).rejects.toMatchObject(lost);
  await io.closed;
});

test('an absurd size and time of a file are clamped', async () => {
  const record = new WireWriter()
    .str('/a')
    .u8(1)
    .u32(0o4755)
    .u64(2n ** 64n - 1n)
    .u64(2n ** 63n - 1n)
    .str('')
    .bytes();
  const { io } = await answering('stat', (agent, { stream }) => agent.send(TYPE.RESULT, stream, record));
  expect(await io.files.stat('/a')).toMatchObject({
    size: Number.MAX_SAFE_INTEGER,
    mod_time: '9999-12-31T23:59:59.999Z',
    mode: '4755',
  });
});

test('more entries than requested end the session', async () => {
  const many = Buffer.concat(Array.from({ length: 11 }, () => new WireWriter().str('/a').bytes()));
  const { io } = await answering('glob', (agent, { stream }) =>
    agent.send(TYPE.DATA, stream, channel0(many)),
  );
  await expect(io.files.glob('/*', 10)).rejects.toMatchObject(lost);
});

test('an endless record ends the session', async () => {
  const { io } = await answering('glob', (agent, { stream }) => {
    agent.send(TYPE.DATA, stream, channel0(u32(0x7fff_ffff).bytes()));
    agent.data(stream, 0, Buffer.alloc(65_536));
    agent.data(stream, 0, Buffer.alloc(65_536));
  });
  await expect(io.files.glob('/*', 10)).rejects.toMatchObject(lost);
});

test('an endless listing is refused at its bound', async () => {
  const path = new WireWriter().str('x'.repeat(60_000)).bytes();
  let credit = FIRST_CREDIT;
  const { io, agent } = await openScripted((frame, agent) => {
    if (frame.type === TYPE.CREDIT) credit += frame.payload.readUInt32LE();
    for (; frame.type !== TYPE.CANCEL && credit >= path.length; credit -= path.length) {
      agent.send(TYPE.DATA, frame.stream, channel0(path));
    }
  });
  await expect(io.files.glob('/*', 100_000)).rejects.toMatchObject({ code: 'payload_too_large' });
  await agent.frame(TYPE.CANCEL);
});

test('a wrong number of entries ends the session', async () => {
  const { io } = await answering('list', (agent, { stream }) =>
    agent.send(TYPE.RESULT, stream, u32(3).u8(0)),
  );
  await expect(io.files.list('/', 1)).rejects.toMatchObject(lost);
});

test('an absurd exec record ends the session', async () => {
  const record = new WireWriter().str('e').str('l').u8(7).u8(0).u32(0).u32(0).u64(0n).u64(0n).bytes();
  const { io } = await answering('execs', (agent, { stream }) =>
    agent.send(TYPE.DATA, stream, channel0(record)),
  );
  await expect(io.execs.list()).rejects.toMatchObject(lost);
});

describe('a file read', () => {
  const info = channel0(infoRecord('/a', 3).bytes());

  test.each<[string, Lie]>([
    ['content before its metadata', (agent, stream) => agent.data(stream, 1, 'abc')],
    [
      'endless metadata',
      (agent, stream) => {
        agent.send(TYPE.DATA, stream, channel0(u32(0x7fff_ffff).bytes()));
        agent.data(stream, 0, Buffer.alloc(65_536));
      },
    ],
    ['no metadata', (agent, stream) => agent.send(TYPE.RESULT, stream, new WireWriter().u64(0n))],
  ])('with %s ends the session', async (_, lie) => {
    const { io } = await answering('read', (agent, { stream }) => lie(agent, stream));
    await expect(io.files.read('/a', { offset: 0 })).rejects.toMatchObject(lost);
  });

  test.each<[string, Lie]>([
    [
      'fewer bytes than announced',
      (agent, stream) => {
        agent.data(stream, 1, 'ab');
        agent.send(TYPE.RESULT, stream, new WireWriter().u64(3n));
      },
    ],
    ['more bytes than requested', (agent, stream) => agent.data(stream, 1, 'abcdef')],
    [
      'metadata between the bytes',
      (agent, stream) => {
        agent.data(stream, 1, 'a');
        agent.data(stream, 0, 'a');
      },
    ],
  ])('with %s fails its content', async (_, lie) => {
    const { io } = await answering('read', (agent, { stream }) => {
      agent.send(TYPE.DATA, stream, info);
      lie(agent, stream);
    });
    const { content } = await io.files.read('/a', { offset: 0, length: 3 });
    await expect(buffer(content)).rejects.toMatchObject(lost);
  });
});

test('the end of the session fails the content of a file', async () => {
  const { io, agent } = await answering('read', (agent, { stream }) => {
    agent.send(TYPE.DATA, stream, channel0(infoRecord('/a', 3).bytes()));
  });
  const { content } = await io.files.read('/a', { offset: 0 });
  agent.wire.end();
  await expect(buffer(content)).rejects.toMatchObject(lost);
});

test('the end of the session ends a connection with an error', async () => {
  const { io, agent } = await answering('connect', (agent, { stream }) => agent.started(stream));
  const duplex = await io.connect(80);
  const seen: string[] = [];
  duplex.on('end', () => seen.push('end')).on('error', () => seen.push('error'));
  duplex.resume();
  agent.wire.end();
  await io.closed;
  await new Promise((resolve) => duplex.once('close', resolve));
  expect(seen).toEqual(['error']);
});

test('an attach without its first byte ends the session', async () => {
  const { io } = await answering('attach', (agent, { stream }) => agent.data(stream, 1, 'x'));
  await expect(io.execs.attach('ex-1', true)).rejects.toMatchObject(lost);
});

test('an agent that stops reading is given up', async () => {
  const { io, agent } = await openScripted();
  agent.wire.pause();
  const big = { ...spec, argv: ['x', ...Array.from({ length: 15 }, () => 'a'.repeat(120_000))] };
  const exits = Array.from({ length: 8 }, () =>
    io.exec(big).exit.catch((error: { code: string }) => error.code),
  );
  const codes = await Promise.race([Promise.all(exits.slice(-2)), io.closed.then(() => ['closed'])]);
  expect(codes).toEqual(['resource_limit', 'resource_limit']);
});

test('random frames never do worse than end the session', async () => {
  const frame = fc.record({
    type: fc.oneof(fc.constantFrom(...Object.values(TYPE)), fc.integer({ min: 0, max: 255 })),
    stream: fc.integer({ min: 0, max: 4 }),
    payload: fc.uint8Array({ maxLength: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(frame, { maxLength: 12 }), async (frames) => {
      const { io, agent } = await openScripted();
      const settled = Promise.allSettled([
        io.exec(spec).exit,
        io.files.stat('/a'),
        io.files.list('/', 1),
        io.files.read('/', { offset: 0 }).then(({ content }) => buffer(content)),
      ]);
      await agent.frame(TYPE.CALL);
      for (const { type, stream, payload } of frames) agent.send(type, stream, Buffer.from(payload));
      agent.wire.end();
      await io.closed;
      for (const each of await settled) {
        if (each.status === 'rejected') expect(each.reason).toHaveProperty('code');
      }
    }),
    { numRuns: 150 },
  );
});
