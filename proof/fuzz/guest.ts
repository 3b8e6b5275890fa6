// Agents that lie to the host: answers that are nearly right, for streams that are none, out of order, too long, without end,
// or never. Whatever they send, every call ends as ours, what is kept stays small, and nothing is left behind.
import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AgentIo } from '../../src/agent/io.ts';
import { FIRST_CREDIT, TYPE } from '../../src/agent/protocol.ts';
import { openSession } from '../../src/agent/session.ts';
import { WireWriter } from '../../src/agent/wire.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { type FakeClock, fakeClock, seededRandom, silentLogger } from '../../test/support/fakes/ports.ts';
import { infoRecord, ScriptedAgent, SECRET, type SeenFrame } from '../../test/support/scripted/agent.ts';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { damaged } from './hostile.ts';

/** Time of the session's own clock: longer than every deadline of the host. */
const PATIENCE_MS = 10 * 60_000;
const STEP_MS = 1000;
/** Time of this machine's clock. */
const ENDS_MS = 20_000;
/** What one agent sends in all; the host lets it no further than what is read and the credit of its streams. */
const MOST_SENT = 8 * 1024 * 1024;
/** Beyond what the host holds for streams that nobody reads. */
const MOST_HELD = 64 * 1024 * 1024;

export const guest = { width: 1, open: openGuest };

async function openGuest() {
  let cases = 0;
  const before = held();
  return {
    one: async (chance: Chance): Promise<Outcome> => {
      cases += 1;
      return conversation(chance);
    },
    verdict: async () => {
      const grown = held() - before;
      return grown < MOST_HELD ? undefined : `${grown} bytes more are held after ${cases} sessions`;
    },
    close: async () => {},
  };
}

/** Without garbage. */
function held(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function conversation(chance: Chance): Promise<Outcome> {
  const [host, wire] = duplexPair({ readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
  const agent = new ScriptedAgent(wire);
  const clock = fakeClock();
  if (chance.oneIn(8)) liedOpening(chance, agent, wire);
  const random = seededRandom(chance.below(1000) + 1);
  const opening = openSession({ stream: host, secret: SECRET, clock, random, logger: silentLogger });
  const ended = within(opening, clock).then(
    (io) => session(chance, { io, agent, clock }),
    (error) => ({ kind: 'not opened', fault: badRefusal(error) }),
  );
  const { kind, fault } = await Promise.race([ended, tooLate()]);
  wire.destroy();
  if (fault) return { kind, fault };
  await turn();
  const left = clock.pending();
  return { kind, fault: left === 0 ? undefined : `${left} timers are left` };
}

/** Waits for `work` while time passes, up to the host's longest deadline. */
async function within<T>(work: Promise<T>, clock: FakeClock): Promise<T> {
  const done = { value: false };
  const settled = work.finally(() => {
    done.value = true;
  });
  settled.catch(() => undefined);
  for (let ms = 0; ms < PATIENCE_MS && !done.value; ms += STEP_MS) {
    for (let i = 0; i < 5 && !done.value; i += 1) await turn();
    if (!done.value) await clock.advance(STEP_MS);
  }
  if (!done.value) throw new Error('it waits for ever');
  return settled;
}

function tooLate(): Promise<Outcome> {
  return new Promise((resolve) =>
    setTimeout(() => resolve({ kind: 'hangs', fault: `no end within ${ENDS_MS} ms` }), ENDS_MS).unref(),
  );
}

function liedOpening(chance: Chance, agent: ScriptedAgent, wire: Duplex): void {
  agent.answers = false;
  const bytes = chance.bytes(40);
  const noise = Buffer.alloc(1 + chance.below(200_000), bytes);
  wire.on('data', () => void (wire.destroyed || agent.hellos === 0 || wire.write(noise)));
  if (chance.oneIn(3)) wire.end();
}

interface Under {
  io: AgentIo;
  agent: ScriptedAgent;
  clock: FakeClock;
}

async function session(chance: Chance, { io, agent, clock }: Under): Promise<Outcome> {
  const seen: SeenFrame[] = [];
  const budget = { left: MOST_SENT };
  const style = chance.below(6);
  agent.onFrame = (frame) => {
    seen.push(frame);
    if (!agent.wire.destroyed && budget.left > 0) answer({ chance, agent, budget, seen, style }, frame);
  };
  const calls = Array.from({ length: 1 + chance.below(6) }, () => call(chance, io).then(() => 'ok', said));
  const all = Promise.all(calls);
  for (let i = 0; i < 20; i += 1) await turn();
  // Nobody but the caller ends an exec that has no deadline.
  if (chance.oneIn(2)) await clock.advance(PATIENCE_MS);
  io.close();
  const verdicts = await all;
  await io.closed;
  const after = await io.files.stat('/after').then(() => 'a call after the end was answered', said);
  const wrong = [...verdicts, after].find((verdict) => !/^(ok|[a-z_]+)$/.test(verdict));
  return { kind: verdicts.find((verdict) => verdict !== 'ok') ?? 'ok', fault: wrong };
}

/** The code of a refusal that is ours; else what is wrong with it. */
const said = (error: unknown): string => badRefusal(error) ?? (error as ServiceError).code;

function badRefusal(error: unknown): string | undefined {
  if (!(error instanceof ServiceError)) return `not ours: ${error instanceof Error ? error.stack : error}`;
  const text = `${error.message} ${error.remedy ?? ''}`;
  if (error.code === 'internal') return `internal: ${text}`;
  return text.length > 2000 ? `a message of ${text.length} characters` : undefined;
}

const CALLS: readonly ((io: AgentIo, chance: Chance) => Promise<unknown>)[] = [
  (io) => io.files.stat('/a'),
  (io) => io.files.list('/', 3),
  (io) => io.files.glob('/**', 50),
  (io) => io.files.mkdir('/d', { parents: true }),
  (io) => io.files.move('/a', '/b'),
  (io) => io.files.remove('/d', true),
  (io, chance) => io.files.write('/w', chance.bytes(300), {}),
  (io) => io.files.write('/w', Buffer.alloc(FIRST_CREDIT + 5), {}),
  (io) => io.execs.list(),
  (io) => io.execs.signal('ex-1', 'SIGTERM'),
  (io) => io.ping(),
  (io) => io.as({ uid: 70_000, home: '/home/t' }).leave(),
  (io, chance) => io.seed({ secret: SECRET, entropy: chance.bytes(64), clockMs: 1, hostname: 'x' }),
  async (io, chance) => {
    const exec = io.exec({ exec_id: 'ex-1', argv: ['x'], label: 'x', env: {}, stdin: chance.oneIn(2) });
    exec.started.catch(() => undefined);
    if (chance.oneIn(3)) exec.stdin.write(Buffer.alloc(100_000)).catch(() => undefined);
    await Promise.all([exec.exit, some(exec.output, chance)]);
  },
  async (io, chance) => {
    const exec = await io.execs.attach('ex-1', true);
    await Promise.all([exec.exit, some(exec.output, chance)]);
  },
  async (io, chance) => some((await io.files.read('/r', { offset: 0, length: 1000 })).content, chance),
  async (io, chance) => some(io.console({ lines: 10, follow: true }), chance),
  (io) => io.usage?.() ?? Promise.resolve(),
  async (io, chance) => {
    const connection = await io.connect(80);
    connection.on('error', () => undefined);
    connection.write('GET / HTTP/1.0\r\n\r\n');
    await some(connection, chance).finally(() => connection.destroy());
  },
];

const call = async (chance: Chance, io: AgentIo): Promise<unknown> => chance.pick(CALLS)(io, chance);

/** Reads to the end, or leaves before. */
async function some(output: AsyncIterable<unknown>, chance: Chance): Promise<void> {
  let most = chance.oneIn(2) ? 3 : 1e9;
  for await (const _ of output) if (--most <= 0) return;
}

interface Telling {
  chance: Chance;
  agent: ScriptedAgent;
  budget: { left: number };
  seen: readonly SeenFrame[];
  /** 0: never answers; 1: streams as long as it may; others: a few frames, some of them right. */
  style: number;
}

function answer(told: Telling, { type, stream, payload }: SeenFrame): void {
  const { chance, style } = told;
  if (style === 0) return;
  if (style === 1) flood(told, type, stream, payload);
  for (let times = style === 1 ? 0 : chance.below(4); times > 0; times -= 1) {
    const lie = chance.oneIn(10) ? chance.pick(told.seen).stream : stream;
    say(told, anyType(chance), chance.oneIn(30) ? chance.below(2 ** 32) : lie);
  }
}

const TYPES = [TYPE.STARTED, TYPE.DATA, TYPE.DATA, TYPE.DATA, TYPE.EOF, TYPE.CREDIT, TYPE.RESULT, TYPE.ERROR];
const anyType = (chance: Chance) => (chance.oneIn(40) ? chance.below(256) : chance.pick(TYPES));

function say({ chance, agent, budget }: Telling, type: number, stream: number): void {
  if (chance.oneIn(150)) return void agent.wire.write(chance.bytes(1 + chance.below(40)));
  const right = payloadOf(chance, type);
  const payload = (chance.oneIn(6) ? damaged(chance, right) : right).subarray(0, 65_000);
  budget.left -= payload.length;
  agent.send(type, stream, payload);
}

/** As long as the host gives credit for it, and now and then longer. */
function flood({ chance, agent, budget }: Telling, type: number, stream: number, payload: Buffer): void {
  const isOpening = type === TYPE.OPEN || type === TYPE.CALL;
  const credit = isOpening ? FIRST_CREDIT : type === TYPE.CREDIT ? payload.readUInt32LE() : 0;
  if (isOpening && chance.oneIn(2)) agent.started(stream);
  const channel = chance.below(3);
  for (let sent = 0; sent < credit && budget.left > 0; sent += 32_768) {
    const bytes = Buffer.alloc(Math.min(32_768, credit - sent) - 1, 1 + chance.below(255));
    budget.left -= bytes.length;
    agent.data(stream, channel, bytes);
  }
  if (chance.oneIn(50)) agent.data(stream, channel, Buffer.alloc(60_000));
}

const RESULTS: readonly ((chance: Chance) => WireWriter)[] = [
  () => new WireWriter(),
  () => infoRecord('/a', 3),
  (chance) => new WireWriter().u64(BigInt(chance.below(1000))),
  (chance) => new WireWriter().u32(chance.below(3)).u8(0),
  (chance) => new WireWriter().u32(chance.below(300)).u32(chance.below(70)).u8(chance.below(3)).u64(5n),
  (chance) => new WireWriter().u32(1).str('x'.repeat(chance.below(300))),
];
const RECORDS: readonly ((chance: Chance) => WireWriter)[] = [
  () => infoRecord('/a', 3),
  (chance) => infoRecord('/b'.repeat(chance.below(400)), 2 ** 31, chance.below(9)),
  () => new WireWriter().str('/a'),
  (chance) => new WireWriter().u32(chance.pick([0, 1, 2 ** 16, 2 ** 31, 2 ** 32 - 1])),
  (chance) =>
    new WireWriter().str('ex-1').str('label').u8(chance.below(3)).u8(0).u32(0).u32(0).u64(0n).u64(0n),
  (chance) => new WireWriter().raw(chance.bytes(chance.below(200))),
];

function payloadOf(chance: Chance, type: number): Buffer {
  const small = () => new WireWriter().u32(chance.pick([0, 1, 2, 13, 28, 39, 110, 70_000, 2 ** 32 - 1]));
  if (type === TYPE.DATA)
    return Buffer.concat([
      Buffer.from([chance.below(chance.oneIn(20) ? 9 : 3)]),
      chance.pick(RECORDS)(chance).bytes(),
    ]);
  if (type === TYPE.RESULT) return chance.pick(RESULTS)(chance).bytes();
  if (type === TYPE.ERROR)
    return small()
      .str('\u001b[2J said\r\n'.repeat(chance.below(300)))
      .bytes();
  if (type === TYPE.EOF) return Buffer.from([chance.below(3)]);
  return small().bytes();
}
