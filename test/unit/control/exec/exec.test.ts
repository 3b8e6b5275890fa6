// Commands and the sessions they run in: answers, lines, deadlines, readers that stop, sandboxes that do not answer.
import { describe, expect, it } from 'vitest';
import { sandboxLost } from '../../../../src/agent/fault.ts';
import type { StreamedLine } from '../../../../src/control/api/execs.ts';
import { ByteLedger, SERVICE_ACCOUNT } from '../../../../src/domain/byte-ledger.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { ExecLine, ExecRequest } from '../../../../src/schema/exec.ts';
import type { FakeProgram } from '../../../support/fakes/io.ts';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

async function setUp(programs: Record<string, FakeProgram> = {}, spawn = {}, config = {}) {
  const w = world(config);
  const { id } = await w.control.sandboxes.spawn(spawn, api, {}, forever);
  for (const [name, program] of Object.entries(programs)) w.fake.of(id).programs.set(name, program);
  return { ...w, w, id };
}

const run = async (w: World, id: string, request: ExecRequest, signal = forever, hold = roomy) =>
  read(await w.control.exec.run(id, request, api, signal, hold));
/** Outputs are bytes until they are written. */
const read = <T extends object>(ended: T & { stdout?: unknown; stderr?: unknown }) => ({
  ...ended,
  stdout: String(ended.stdout),
  stderr: String(ended.stderr),
});
/** As a client reads it. */
const told = (line: StreamedLine) => ({ ...line, data: line.data.toString() }) as ExecLine;
const lines = async (w: World, id: string, request: ExecRequest, signal = forever) => {
  const all: ExecLine[] = [];
  for await (const line of await w.control.exec.stream(id, request, api, signal)) all.push(told(line));
  return all;
};
const failed = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const execEvents = async (w: World) => (await w.events()).filter(({ type }) => !type.startsWith('sandbox.'));
const text = (all: ExecLine[], stream: string) =>
  all
    .filter((line) => line.stream === stream)
    .map(({ data }) => data)
    .join('');

describe('a plain exec', () => {
  it('returns both outputs and the status; a non-zero status is not a failure', async () => {
    const { w, id } = await setUp({
      both: async ({ write }) => {
        await write('stdout', 'out');
        await write('stderr', 'err');
        return { exit_code: 3, duration_ms: 12 };
      },
    });
    expect(await run(w, id, { command: 'both' })).toEqual({
      ...{ exec_id: expect.stringMatching(/^ex-/), exit_code: 3, stdout: 'out', stderr: 'err' },
      ...{ duration: '12ms', duration_ms: 12, stdout_truncated: false, stderr_truncated: false },
    });
    expect(await execEvents(w)).toMatchObject([
      { type: 'exec.started', sandbox_id: id },
      { type: 'exec.completed', data: { exit_code: 3, duration_ms: 12 } },
    ]);
  });

  it('passes on the request: shell, env over the sandbox’s, workdir, input, deadline', async () => {
    const seen: unknown[] = [];
    const { w, id } = await setUp(
      {
        cat: async ({ spec, stdin, write }) => {
          seen.push(spec);
          await write('stdout', await stdin);
          return {};
        },
      },
      { env: { A: '1', B: '1' } },
    );
    const request = { command: 'cat', env: { B: '2' }, workdir: '/a/../b/', stdin: 'hällo', timeout: '5s' };
    expect((await run(w, id, request)).stdout).toBe('hällo');
    expect(seen[0]).toMatchObject({
      ...{
        argv: ['sh', '-c', 'cat'],
        env: { A: '1', B: '2' },
        workdir: '/b',
        timeoutMs: 5000,
        stdin: true,
        label: 'cat',
      },
    });
  });

  it.each([
    ['detached', { detach: true }],
    ['on a terminal', { tty: { rows: 24, cols: 80 } }],
  ])('%s without a deadline gets the one of its owner', async (_name, how) => {
    const deadlines: number[] = [];
    const seen: FakeProgram = async ({ spec }) => {
      deadlines.push(spec.timeoutMs ?? -1);
      return {};
    };
    const w = world();
    const ann = owned('ann');
    const { id } = await w.control.sandboxes.spawn({}, ann, {}, forever);
    w.fake.of(id).programs.set('x', seen);
    const open = () => w.control.exec.open(id, { command: 'x', ...how, detach: false }, ann, forever);
    const start =
      'detach' in how ? () => w.control.exec.detach(id, { command: 'x', detach: true }, ann, forever) : open;
    await start();
    await w.control.quotas.put('ann', { max_exec_timeout: '2s' }, admin);
    await start();
    await w.control.quotas.put('ann', { max_sandboxes: 5 }, admin);
    await start();
    expect(deadlines).toEqual([0, 2000, 0]);
  });

  it('refuses an Idempotency-Key where no result is kept', async () => {
    const { w, id } = await setUp();
    const request = { command: 'x', idempotencyKey: 'k' };
    const ways = [
      () => w.control.exec.run(id, request, api, forever, roomy),
      () => w.control.exec.stream(id, request, api, forever),
      () => w.control.exec.detach(id, { ...request, detach: true }, api, forever),
    ];
    for (const way of ways)
      expect(await failed(way())).toMatchObject({
        code: 'bad_request',
        message: 'The provider of this sandbox does not support Idempotency-Key for commands.',
      });
  });

  it('keeps each output up to the cap and reports the cut', async () => {
    const { w, id } = await setUp(
      {
        much: async ({ write }) => {
          for (let i = 0; i < 30; i++) await write('stdout', 'é'.repeat(100));
          await write('stderr', 'x');
          return {};
        },
      },
      {},
      { defaults: { max_exec_output: 1025 } },
    );
    const result = await run(w, id, { command: 'much' });
    expect(result).toMatchObject({
      stdout: 'é'.repeat(512),
      stdout_truncated: true,
      stderr: 'x',
      stderr_truncated: false,
    });
  });

  it('keeps the output that the ledger admits, and nothing after a gap', async () => {
    const ledger = new ByteLedger(100_000, { monotonic: () => 0 });
    const others = ledger.open(SERVICE_ACCOUNT);
    others.grow(70_000);
    const { w, id } = await setUp({
      much: async ({ write }) => {
        await write('stdout', Buffer.alloc(50_000, 'x'));
        others.release();
        await write('stdout', 'after the gap');
        await write('stderr', 'y');
        return {};
      },
    });
    const hold = ledger.open(SERVICE_ACCOUNT);
    const result = await run(w, id, { command: 'much' }, forever, hold);
    expect(result).toMatchObject({
      ...{ stdout: 'x'.repeat(30_000), stdout_truncated: true, stderr: 'y', stderr_truncated: false },
    });
    hold.release();
    expect(ledger.stats()).toMatchObject({ held_bytes: 0, refused_full_total: 2 });
  });

  it('carries every byte as base64', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const { w, id } = await setUp({
      raw: async ({ write }) => {
        for (const byte of bytes) await write('stdout', Buffer.from([byte]));
        return {};
      },
    });
    const { stdout } = await run(w, id, { command: 'raw', encoding: 'base64' });
    expect(Buffer.from(stdout, 'base64')).toEqual(bytes);
  });

  it('answers 408 at the deadline with the output so far, and publishes an event', async () => {
    const { w, id } = await setUp({
      slow: async ({ write }) => {
        await write('stdout', 'so far');
        return { exit_code: 137, timed_out: true };
      },
    });
    const failure = (await failed(run(w, id, { command: 'slow' }))) as ServiceError;
    expect({ ...failure, details: read(failure.details ?? {}) }).toMatchObject({
      ...{
        code: 'timeout',
        status: 408,
        details: { exec_id: expect.any(String), stdout: 'so far', stderr: '' },
      },
    });
    expect(await execEvents(w)).toMatchObject([
      { type: 'exec.started' },
      { type: 'exec.timeout', data: { exit_code: 124 } },
    ]);
  });

  it.each<[ExecRequest, string]>([
    [{ command: ' ' }, 'bad_request'],
    [{ command: 'x', workdir: 'relative' }, 'bad_request'],
    [{ command: 'x', timeout: '1.5s' }, 'bad_request'],
    [{ command: 'x', timeout: '11m' }, 'resource_limit'],
  ])('refuses %j with %s and starts nothing', async (request, code) => {
    const { w, id } = await setUp();
    expect(await failed(run(w, id, request))).toMatchObject({ code });
    expect((await execEvents(w)).map(({ type }) => type)).toEqual(
      code === 'resource_limit' ? ['resource.limit'] : [],
    );
    expect(w.provider.calls.attach).toBe(0);
  });

  it('is killed when its caller leaves, which does not count as a timeout', async () => {
    let killed = false;
    const { w, id } = await setUp({
      forever: ({ killed: signal }) =>
        new Promise(() =>
          signal.addEventListener('abort', () => {
            killed = true;
          }),
        ),
    });
    const caller = new AbortController();
    const running = failed(run(w, id, { command: 'forever' }, caller.signal));
    await w.clock.advance(0);
    caller.abort(new Error('left'));
    expect(await running).toMatchObject({ message: 'left' });
    await w.clock.advance(0);
    expect(killed).toBe(true);
    expect((await execEvents(w)).map(({ type }) => type)).toEqual(['exec.started', 'exec.failed']);
  });

  it('shares one session among 50 at once', async () => {
    const { w, id } = await setUp({
      id: async ({ spec, write }) => {
        await write('stdout', spec.exec_id);
        return {};
      },
    });
    const results = await Promise.all(Array.from({ length: 50 }, () => run(w, id, { command: 'id' })));
    expect(results.every(({ exec_id, stdout }) => exec_id === stdout)).toBe(true);
    expect(w.provider.calls.attach).toBe(1);
  });
});

describe('a streamed exec', () => {
  it('yields the start, the output in order, and the exit last', async () => {
    const { w, id } = await setUp({
      talk: async ({ write }) => {
        await write('stdout', 'a');
        await write('stderr', 'b');
        await write('stdout', 'c');
        return { exit_code: 2, signal: 'SIGTERM', duration_ms: 7 };
      },
    });
    expect(await lines(w, id, { command: 'talk' })).toEqual([
      { stream: 'start', data: '', exec_id: expect.any(String) },
      { stream: 'stdout', data: 'a' },
      { stream: 'stderr', data: 'b' },
      { stream: 'stdout', data: 'c' },
      { stream: 'exit', data: '', exit_code: 2, signal: 'SIGTERM', duration_ms: 7 },
    ]);
  });

  it('holds a cut character until its rest arrives, for each output separately', async () => {
    const euro = Buffer.from('€');
    const { w, id } = await setUp({
      cut: async ({ write }) => {
        await write('stdout', euro.subarray(0, 1));
        await write('stderr', euro.subarray(0, 2));
        await write('stdout', euro.subarray(1));
        await write('stderr', euro.subarray(2));
        await write('stdout', euro.subarray(0, 2));
        return {};
      },
    });
    const all = await lines(w, id, { command: 'cut' });
    expect(text(all, 'stdout')).toBe('€\ufffd');
    expect(text(all, 'stderr')).toBe('€');
    expect(all.at(-1)?.stream).toBe('exit');
  });

  it('joins small pieces up to 64 KiB, splits larger ones, and loses nothing', async () => {
    const { w, id } = await setUp({
      bulk: async ({ write }) => {
        await Promise.all(Array.from({ length: 5000 }, (_, i) => write('stdout', `${i}\n`)));
        await write('stdout', Buffer.alloc(200_000, 'x'));
        return {};
      },
    });
    const all = await lines(w, id, { command: 'bulk' });
    const wanted = `${Array.from({ length: 5000 }, (_, i) => `${i}\n`).join('')}${'x'.repeat(200_000)}`;
    expect(text(all, 'stdout')).toBe(wanted);
    expect(Math.max(...all.map(({ data }) => data.length))).toBeLessThanOrEqual(65_536);
    expect(all.length).toBeLessThan(5000);
  });

  it('stops the program while its reader stops', async () => {
    let written = 0;
    const { w, id } = await setUp({
      flood: async ({ write, killed }) => {
        while (!killed.aborted) {
          await write('stdout', Buffer.alloc(65_536));
          written++;
        }
        return {};
      },
    });
    const stream = await w.control.exec.stream(id, { command: 'flood' }, api, forever);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    await reader.next();
    await w.clock.advance(0);
    await w.clock.advance(0);
    expect(written).toBeLessThan(6);
    await reader.return?.();
    await w.clock.advance(0);
    expect(await w.store.sandboxes.get(id)).toMatchObject({ state: 'running' });
  });

  it('sends a keepalive every 15 s of silence, also while it waits only for the end', async () => {
    let end = () => {};
    const { w, id } = await setUp({
      quiet: ({ write }) =>
        new Promise((resolve) => {
          end = () => void write('stdout', 'x').then(() => resolve({}));
        }),
    });
    const all: ExecLine[] = [];
    const reading = (async () => {
      for await (const line of await w.control.exec.stream(id, { command: 'quiet' }, api, forever))
        all.push(told(line));
    })();
    await w.clock.advance(0);
    await w.clock.advance(14_999);
    expect(all.map(({ stream }) => stream)).toEqual(['start']);
    await w.clock.advance(30_001);
    expect(all.map(({ stream }) => stream)).toEqual(['start', 'keepalive', 'keepalive', 'keepalive']);
    end();
    await reading;
    expect(all.slice(-2).map(({ stream }) => stream)).toEqual(['stdout', 'exit']);
    await w.events();
    // The record of the command is written, too.
    await w.clock.advance(50);
    expect(w.clock.pending()).toBe(1);
  });

  it.each(['utf8', 'base64'] as const)(
    'reports a deadline on stderr and ends with 124 (%s)',
    async (encoding) => {
      const { w, id } = await setUp({
        slow: async () => ({ exit_code: 137, signal: 'SIGKILL', timed_out: true, duration_ms: 1000 }),
      });
      const all = await lines(w, id, { command: 'slow', encoding });
      const said = all.at(-2)?.data ?? '';
      expect(encoding === 'base64' ? Buffer.from(said, 'base64').toString() : said).toBe(
        `exec timeout: ${id}\n`,
      );
      expect(all.at(-1)).toMatchObject({
        stream: 'exit',
        exit_code: 124,
        timed_out: true,
        duration_ms: 1000,
      });
    },
  );

  it('ends with an error line when the sandbox is lost', async () => {
    const { w, id } = await setUp({
      forever: async ({ write }) => {
        await write('stdout', 'x');
        return new Promise(() => {});
      },
    });
    const reading = lines(w, id, { command: 'forever' });
    await w.clock.advance(0);
    w.fake.crash(id);
    const all = await reading;
    expect(all.at(-1)).toEqual({
      stream: 'error',
      data: '',
      code: 'unavailable',
      message: expect.any(String),
    });
    expect(all.filter(({ stream }) => stream === 'exit')).toEqual([]);
  });

  it('fails with an ordinary error before the first line', async () => {
    const { w, id } = await setUp();
    expect(await failed(w.control.exec.stream(id, { command: '' }, api, forever))).toMatchObject({
      code: 'bad_request',
    });
    expect(await failed(w.control.exec.stream('sb-nobody', { command: 'x' }, api, forever))).toMatchObject({
      code: 'not_found',
    });
    expect(
      await failed(w.control.exec.stream(id, { command: 'x', timeout: '1h' }, api, forever)),
    ).toMatchObject({ status: 429 });
  });

  it('ends without a last line when its caller leaves', async () => {
    const { w, id } = await setUp({ forever: () => new Promise(() => {}) });
    const caller = new AbortController();
    const reading = lines(w, id, { command: 'forever' }, caller.signal);
    await w.clock.advance(0);
    caller.abort(new Error('left'));
    expect((await reading).map(({ stream }) => stream)).toEqual(['start']);
  });
});

describe('sessions', () => {
  it('are closed after a minute without a call, never during one', async () => {
    let end = () => {};
    const { w, id } = await setUp({
      slow: () =>
        new Promise((resolve) => {
          end = () => resolve({});
        }),
      x: async () => ({}),
    });
    const running = run(w, id, { command: 'slow' });
    await w.clock.advance(0);
    await w.clock.advance(300_000);
    expect(w.fake.of(id).sessions.size).toBe(1);
    end();
    await running;
    await w.clock.advance(59_000);
    await run(w, id, { command: 'x' });
    await w.clock.advance(59_000);
    expect(w.fake.of(id).sessions.size).toBe(1);
    await w.clock.advance(1000);
    expect(w.fake.of(id).sessions.size).toBe(0);
    await run(w, id, { command: 'x' });
    expect(w.provider.calls.attach).toBe(2);
  });

  it('are opened again by the next call after their end', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    await run(w, id, { command: 'x' });
    for (const io of w.fake.of(id).sessions) io.die();
    await w.clock.advance(0);
    expect(await run(w, id, { command: 'x' })).toMatchObject({ exit_code: 0 });
    expect(w.provider.calls.attach).toBe(2);
  });

  it('stay open for others when the caller leaves during the opening', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    w.provider.decide = (operation) => (operation === 'attach' ? 'late' : undefined);
    const caller = new AbortController();
    const gone = failed(run(w, id, { command: 'x' }, caller.signal));
    const other = run(w, id, { command: 'x' });
    await w.clock.advance(0);
    caller.abort(new Error('left'));
    expect(await gone).toMatchObject({ message: 'left' });
    w.provider.release();
    expect(await other).toMatchObject({ exit_code: 0 });
    expect(w.provider.calls.attach).toBe(1);
  });

  it('are all closed when the service stops', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    await w.control.start();
    await run(w, id, { command: 'x' });
    await w.control.stop();
    await w.clock.advance(0);
    expect(w.fake.of(id).sessions.size).toBe(0);
    expect(w.fake.runtimes.size).toBe(1);
    await w.events();
    expect(w.clock.pending()).toBe(0);
  });
});

describe('a sandbox that does not answer', () => {
  const state = async (w: World, id: string) => (await w.store.sandboxes.get(id))?.state;

  it('is unhealthy, still gets calls, and is running once it answers again', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    w.fake.of(id).answers = false;
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'unavailable' });
    expect(await state(w, id)).toBe('unhealthy');
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'unavailable' });
    w.fake.of(id).answers = true;
    expect(await run(w, id, { command: 'x' })).toMatchObject({ exit_code: 0 });
    await w.clock.advance(0);
    expect(await state(w, id)).toBe('running');
  });

  it('is found healthy again by the reconciliation, too', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    await w.control.start();
    w.fake.of(id).answers = false;
    await failed(run(w, id, { command: 'x' }));
    w.fake.of(id).answers = true;
    await w.clock.advance(31_000);
    expect(await state(w, id)).toBe('running');
  });

  it('because its runtime is gone ends as lost, and the caller gets the reason', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    w.fake.crash(id);
    const call = () => failed(run(w, id, { command: 'x' }));
    // Found missing once: that may be a slip.
    expect(await call()).toMatchObject({ code: 'unavailable', status: 503 });
    await w.clock.advance(999);
    expect(await call()).toMatchObject({ code: 'unavailable', status: 503 });
    expect(await state(w, id)).toBe('running');
    await w.clock.advance(1);
    expect(await call()).toMatchObject({ code: 'not_found', details: { end_reason: 'runtime_lost' } });
    expect(await state(w, id)).toBe('destroyed');
    expect(w.fake.runtimes.size).toBe(0);
    const types = (await w.events()).map(({ type }) => type).filter((type) => type.startsWith('sandbox.'));
    expect(types.slice(-2)).toEqual(['sandbox.error', 'sandbox.destroyed']);
  });

  it('during a call is noticed without another call', async () => {
    const { w, id } = await setUp({ forever: () => new Promise(() => {}) });
    const running = failed(run(w, id, { command: 'forever' }));
    await w.clock.advance(0);
    w.fake.crash(id);
    expect(await running).toMatchObject({ code: 'unavailable' });
    await w.clock.advance(0);
    await w.clock.advance(1000);
    expect(await state(w, id)).toBe('destroyed');
  });

  it('and exists again a second later stays alive', async () => {
    const { w, id } = await setUp({ x: async () => ({}) });
    const { inspect } = w.fake;
    w.fake.inspect = async () => 'gone';
    await w.control.start();
    w.fake.of(id).answers = false;
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'unavailable' });
    w.fake.inspect = inspect;
    await w.clock.advance(60_000);
    expect(await state(w, id)).toMatch(/running|unhealthy/);
    w.fake.inspect = async () => Promise.reject(new ServiceError('unavailable', 'It cannot be said.'));
    await w.clock.advance(600_000);
    expect(await state(w, id)).toMatch(/running|unhealthy/);
  });

  it.each<[string, (w: World, id: string) => Promise<unknown>]>([
    ['a file operation', (w, id) => w.control.files.stat(id, '/x', api, forever)],
    ['a list of execs', (w, id) => w.control.exec.list(id, api, forever)],
    ['an exec', (w, id) => run(w, id, { command: 'forever' })],
    ['a view of an exec', (w, id) => w.control.exec.output({ id, exec_id: 'ex-1' }, {}, api, forever)],
    ['the console', (w, id) => w.control.logs.read(id, 10, api, forever, roomy)],
  ])('because it is being destroyed gives this reason: %s', async (_, call) => {
    const { w, id } = await setUp({ forever: () => new Promise(() => {}), x: async () => ({}) });
    await run(w, id, { command: 'x' });
    for (const io of w.fake.of(id).sessions) {
      const never = () => io.closed.then(() => Promise.reject(sandboxLost()));
      io.files.stat = io.execs.list = io.execs.attach = never;
      // biome-ignore lint/correctness/useYield: it throws before the first line.
      io.console = async function* () {
        await never();
      };
    }
    const calling = failed(call(w, id));
    await w.clock.advance(0);
    await w.control.sandboxes.destroy(id, api);
    expect(await calling).toMatchObject({ code: 'not_found', details: { end_reason: 'destroyed' } });
  });

  it('keeps its state while the provider does not answer', async () => {
    const { w, id } = await setUp();
    w.provider.decide = (operation) =>
      operation === 'attach' || operation === 'inspect' ? 'fail' : undefined;
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'provider_error' });
    expect(await state(w, id)).toBe('running');
  });
});

describe('a sandbox that is not running', () => {
  it('answers conflict while it is creating or destroying', async () => {
    const w = world();
    w.provider.decide = (operation) => (operation === 'create' ? 'late' : 'fail');
    const spawned = w.control.sandboxes.spawn({}, api, {}, forever);
    await w.clock.advance(0);
    const id = (await w.control.sandboxes.list({}, api)).sandboxes[0]?.id ?? '';
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'conflict' });
    expect(await failed(w.control.files.stat(id, '/x', api, forever))).toMatchObject({ code: 'conflict' });
    w.provider.release();
    await spawned;
    await failed(w.control.sandboxes.destroy(id, api));
    expect(await failed(run(w, id, { command: 'x' }))).toMatchObject({ code: 'conflict' });
  });
});
