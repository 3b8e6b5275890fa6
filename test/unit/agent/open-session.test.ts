// Opening: leftovers are dropped, a silent agent is asked three times, and what fails leaves no stream behind.
import { duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
import { encodeFrame } from '../../../src/agent/frame.ts';
import { FEWEST_ZEROS, TYPE, ZEROS } from '../../../src/agent/protocol.ts';
import { openSession } from '../../../src/agent/session.ts';
import { WireWriter } from '../../../src/agent/wire.ts';
import { fakeClock, seededRandom, silentLogger } from '../../support/fakes/ports.ts';
import { ScriptedAgent, SECRET } from '../../support/scripted/agent.ts';
import { until } from '../../support/until.ts';

function prepare() {
  const [stream, guest] = duplexPair({ readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
  const clock = fakeClock();
  const agent = new ScriptedAgent(guest);
  const open = (signal?: AbortSignal) =>
    openSession({ stream, secret: SECRET, clock, random: seededRandom(), logger: silentLogger }, signal);
  return { stream, guest, clock, agent, open };
}

test.each([
  ['a stream with a past', {}, ZEROS],
  ['a new connection', { isNew: true }, FEWEST_ZEROS],
])('on %s sends zeros, the secret and a HELLO whose tag holds no zero byte', async (_, more, zeros) => {
  const [stream, guest] = duplexPair();
  const chunks: Buffer[] = [];
  guest.on('data', (chunk) => chunks.push(chunk));
  const random = { bytes: (count: number) => Buffer.alloc(count) };
  const clock = fakeClock();
  const opening = openSession({ stream, secret: SECRET, clock, random, logger: silentLogger, ...more });
  opening.catch(() => undefined);
  const sent = zeros + 16 + 34;
  await until('the complete opening', () => Buffer.concat(chunks).length >= sent);
  const bytes = Buffer.concat(chunks);
  expect(bytes.subarray(0, zeros).every((byte) => byte === 0)).toBe(true);
  expect(bytes.subarray(zeros, zeros + 16)).toEqual(SECRET);
  expect(bytes.subarray(-4)).not.toContain(0);
  // The first opening may have left half a frame.
  await clock.advance(2000);
  await until('the second opening', () => Buffer.concat(chunks).length >= sent + ZEROS + 16 + 34);
  guest.destroy();
  stream.destroy();
  await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
});

test('drops leftovers of an old session, also a forged welcome', async () => {
  const { guest, open } = prepare();
  guest.write(Buffer.alloc(300_000, 0x5a));
  const forged = new WireWriter().raw(Buffer.alloc(16, 9)).u8(1).str('x').u64(1n).bytes();
  guest.write(encodeFrame({ type: TYPE.WELCOME, stream: 0, tag: 77 }, forged));
  const io = await open();
  io.close();
  await io.closed;
});

test('tries three times without an answer, then fails with unavailable', async () => {
  const { stream, clock, agent, open } = prepare();
  agent.answers = false;
  const opening = open();
  opening.catch(() => undefined);
  for (const attempt of [1, 2, 3]) {
    await until(`HELLO ${attempt}`, () => agent.hellos === attempt);
    await clock.advance(2000);
  }
  await expect(opening).rejects.toMatchObject({ code: 'unavailable' });
  expect([agent.hellos, stream.destroyed, clock.pending()]).toEqual([3, true, 0]);
});

test('accepts a late answer at the second attempt', async () => {
  const { clock, agent, open } = prepare();
  agent.answers = false;
  const opening = open();
  await until('the first HELLO', () => agent.hellos === 1);
  agent.answers = true;
  await clock.advance(2000);
  (await opening).close();
});

test('gives up a stream of endless garbage', async () => {
  const { stream, guest, open, agent } = prepare();
  agent.answers = false;
  const rubbish = Buffer.alloc(65_536, 0x7a);
  const pour = () => {
    while (!guest.destroyed && guest.write(rubbish));
  };
  guest.on('drain', pour);
  pour();
  await expect(open()).rejects.toMatchObject({ code: 'unavailable' });
  expect(stream.destroyed).toBe(true);
});

test('stops at once on an abort or the end of the stream', async () => {
  const first = prepare();
  first.agent.answers = false;
  const abort = new AbortController();
  const opening = first.open(abort.signal);
  const reason = new Error('stop');
  abort.abort(reason);
  await expect(opening).rejects.toBe(reason);
  expect(first.stream.destroyed).toBe(true);
  const second = prepare();
  second.agent.answers = false;
  const other = second.open();
  second.guest.end();
  await expect(other).rejects.toMatchObject({ code: 'unavailable' });
});
