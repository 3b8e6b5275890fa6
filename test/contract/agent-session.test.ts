// Sessions of the real agent: opened, replaced, cut and abused. What a host says wrongly costs that host its session
// and nobody else anything.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeFrame } from '../../src/agent/frame.ts';
import { openWire } from '../../src/agent/handshake.ts';
import type { SandboxIo } from '../../src/agent/io.ts';
import { FIRST_CREDIT, TYPE } from '../../src/agent/protocol.ts';
import { openSession, Session } from '../../src/agent/session.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { seededRandom, silentLogger } from '../support/fakes/ports.ts';
import { rawExec } from '../support/hosts/raw-exec.ts';
import { type RealAgent, startAgent } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const PATH = process.env.PATH ?? '';
const spec = (id: string, script: string) => ({
  exec_id: id,
  argv: ['sh', '-c', script],
  label: script,
  env: { PATH },
});

async function wire(agent: RealAgent, secret = agent.secret) {
  const stream = await agent.dial();
  const opened = await openWire({ stream, secret, clock: realClock(), random: realRandom() });
  return { stream: stream.resume().on('error', () => undefined), ...opened };
}

const execArgs = (script: string) => rawExec(['sh', '-c', script]);

async function works(io: SandboxIo): Promise<void> {
  expect((await io.exec(spec('ex-works', 'exit 6')).exit).exit_code).toBe(6);
}

describeWith(['cc'], 'sessions of the real agent', () => {
  test('a new session ends the old one and its commands; detached commands keep running', async () => {
    const agent = await startAgent();
    const first = await agent.open();
    const attached = first.exec(spec('ex-a', 'sleep 4000'));
    await attached.started;
    await first.exec({ ...spec('ex-d', 'sleep 4001'), detach: true }).exit;
    const second = await agent.open();
    await expect(attached.exit).rejects.toMatchObject({ code: 'unavailable' });
    await first.closed;
    const states = async () =>
      Object.fromEntries((await second.execs.list()).map((each) => [each.exec_id, each.state]));
    await until('the end of the attached one', async () => (await states())['ex-a'] !== 'running');
    expect((await states())['ex-d']).toBe('running');
    await second.execs.signal('ex-d', 'SIGKILL');
  });

  test('a wrong secret gets no answer', async () => {
    const agent = await startAgent();
    const io = await agent.open();
    const stream = await agent.dial();
    const abort = new AbortController();
    const opening = openWire(
      { stream, secret: Buffer.alloc(16, 1), clock: realClock(), random: realRandom() },
      abort.signal,
    );
    await io.ping();
    abort.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
    await io.ping();
  });

  test('seed changes the secret', async () => {
    const agent = await startAgent();
    const stream = await agent.dial();
    const deps = { clock: realClock(), random: realRandom(), logger: silentLogger };
    const io = await openSession({ ...deps, stream, secret: agent.secret });
    const secret = Buffer.alloc(16, 0x42);
    // This machine's own clock and name stay what they are.
    expect(await io.seed({ secret, entropy: Buffer.alloc(0), clockMs: 0, hostname: '' })).toEqual([
      ...['entropy', 'clock', 'name', 'generator', 'identity'],
    ]);
    io.close();
    const again = await wire(agent, secret);
    expect(again.version).toBe(1);
  });

  test.each<[string, (tag: number) => Buffer]>([
    ['random bytes', () => seededRandom(5).bytes(5000)],
    [
      'a wrong tag',
      (tag) => encodeFrame({ type: TYPE.OPEN, stream: 1, tag: (tag ^ 1) >>> 0 }, execArgs('touch bad')),
    ],
    ['a length out of range', () => Buffer.from([1, 0, 0, 0])],
    ['an unknown type', (tag) => encodeFrame({ type: 200, stream: 1, tag })],
    ['a frame of the agent', (tag) => encodeFrame({ type: TYPE.RESULT, stream: 1, tag })],
    [
      'DATA beyond the credit',
      (tag) => {
        const data = encodeFrame({ type: TYPE.DATA, stream: 1, tag }, [0], Buffer.alloc(65_536));
        const count = Math.ceil(FIRST_CREDIT / 65_536) + 1;
        return Buffer.concat([
          encodeFrame({ type: TYPE.OPEN, stream: 1, tag }, execArgs('sleep 5')),
          ...Array.from({ length: count }, () => data),
        ]);
      },
    ],
  ])('%s of a host ends its session, and the next host is served', async (_, lie) => {
    const agent = await startAgent();
    const { stream, tag } = await wire(agent);
    stream.write(lie(tag));
    await works(await agent.open());
    expect(existsSync(join(agent.folder, 'bad'))).toBe(false);
  });

  test('random frames of a host never hurt the agent', async () => {
    const agent = await startAgent();
    const random = seededRandom(11);
    for (let round = 0; round < 100; round += 1) {
      const { stream, tag } = await wire(agent);
      for (let count = 0; count < 20; count += 1) {
        const [type = 0, id = 0, size = 0] = random.bytes(3);
        const isCall = type % 12 === TYPE.CALL;
        // A shutdown would be obeyed, and rightly so.
        const payload = isCall
          ? Buffer.concat([Buffer.from([1 + (id % 9)]), random.bytes(size)])
          : random.bytes(size);
        stream.write(encodeFrame({ type: type % 12, stream: id % 6, tag }, payload));
      }
      if (round % 2) stream.destroy();
    }
    await works(await agent.open());
    expect(agent.errors()).not.toMatch(/Sanitizer|runtime error/);
  });

  test('a frame that a dead host cut is never carried out', {
    timeout: 120_000,
  }, async () => {
    const agent = await startAgent();
    const template = encodeFrame({ type: TYPE.OPEN, stream: 1, tag: 0x01010101 }, execArgs('touch bad'));
    for (let cut = 0; cut < template.length; cut += 1) {
      const { stream, tag } = await wire(agent);
      const frame = encodeFrame({ type: TYPE.OPEN, stream: 1, tag }, execArgs('touch bad'));
      stream.write(frame.subarray(0, cut));
      // On the same stream, as on an attached container: the next host's opening follows the half frame directly.
      const reopened = await openWire({
        stream: stream.pause(),
        secret: agent.secret,
        clock: realClock(),
        random: realRandom(),
      });
      const session = new Session({ stream, clock: realClock(), logger: silentLogger }, reopened);
      await session.requests.call('ping', (reader) => [reader.u64(), reader.u32()]);
      session.close();
      await session.closed;
    }
    expect(existsSync(join(agent.folder, 'bad'))).toBe(false);
    await works(await agent.open());
  });

  test('an exec round trip is short', async () => {
    const io = await (await startAgent()).open();
    const times: number[] = [];
    for (let count = 0; count < 200; count += 1) {
      const start = performance.now();
      await io.exec({ exec_id: `ex-${count}`, argv: ['/bin/true'], label: 'true', env: {} }).exit;
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    console.log(`exec true: p50 ${times[100]?.toFixed(2)} ms, p95 ${times[190]?.toFixed(2)} ms`);
    expect(times[100]).toBeLessThan(100);
  });

  test('the agent ends at its deadline, whether or not a host is there', async () => {
    const agent = await startAgent();
    const io = await agent.open();
    await io.setDeadline?.(60_000);
    await io.setDeadline?.(300);
    io.close();
    const start = performance.now();
    await until('its end', () =>
      agent.dial().then(
        (stream) => {
          stream.on('error', () => undefined).destroy();
          return false;
        },
        () => true,
      ),
    );
    const took = performance.now() - start;
    expect([took > 200, took < 20_000], `${took} ms`).toEqual([true, true]);
  });
});
