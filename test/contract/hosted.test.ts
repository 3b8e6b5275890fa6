// The hosted provider: the real client library against a backend that speaks its protocol. The contract of every provider,
// and what a hostile backend cannot do.

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import {
  BackendFixture,
  shell as exec,
  listsOnAccount,
  PROMISES,
} from '../support/scripted/backend-fixture.ts';
import { type HostedBackend, type HostedSandbox, hostedBackend } from '../support/scripted/hosted-backend.ts';
import { frame } from '../support/scripted/hosted-processes.ts';
import { until } from '../support/until.ts';
import { providerContract } from './provider.suite.ts';

const MARK = 'text-of-the-backend';

describeWith(['bwrap', 'root'], 'a hosted backend', () => {
  let backend: HostedBackend;
  let provider: Provider;
  let ground: BackendFixture<HostedSandbox>;

  beforeAll(async () => {
    backend = await hostedBackend();
    ground = new BackendFixture(backend);
    provider = ground.provider;
  });
  afterEach(() => {
    backend.instead = undefined;
  });
  afterAll(async () => {
    await ground.close();
    const left = [...backend.sandboxes.keys()];
    await backend.close();
    expect(left).toEqual([]);
  });
  const sandbox = (runtime_id: string) => ground.sandbox(runtime_id);

  providerContract({ ...PROMISES, moments: [0, 2, 5, 10, 20] }, () => ground.contract('paused'));

  const inside = (use: (io: SandboxIo, runtime_id: string) => Promise<void>) =>
    ground.inside(async (io, runtime_id) => {
      await use(io, runtime_id).finally(() => {
        backend.instead = undefined;
      });
    });

  it('counts the bytes of a listing, and gives up at their limit', () =>
    inside(({ files }) => listsOnAccount(files)));

  it('gives commands their input, environment and folder, and separates their outputs', () =>
    inside(async (io) => {
      await io.files.mkdir('/workspace/sub', { parents: false });
      const more = { env: { WORD: 'hé' }, workdir: '/workspace/sub', stdin: true, timeoutMs: 20_000 };
      const run = exec(io, 'pwd; echo "$WORD" >&2; cat; exit 3', more);
      await run.started;
      await run.stdin.write(Buffer.from('one '));
      await run.stdin.write(Buffer.from('two'));
      run.stdin.end();
      const parts = { stdout: '', stderr: '' };
      for await (const { channel, data } of run.output) parts[channel] += data.toString();
      expect(parts).toEqual({ stdout: '/workspace/sub\none two', stderr: 'hé\n' });
      expect(await run.exit).toMatchObject({ exit_code: 3, timed_out: false });
    }));

  it('drops input for a command that has ended', () =>
    inside(async (io) => {
      const run = exec(io, 'exit 3', { stdin: true, timeoutMs: 20_000 });
      expect(await run.exit).toMatchObject({ exit_code: 3 });
      await run.stdin.write(Buffer.alloc(2_000_000));
      run.stdin.end();
      const busy = exec(io, 'exec <&-; sleep 0.5; exit 4', { stdin: true, timeoutMs: 20_000 });
      await busy.started;
      await busy.stdin.write(Buffer.alloc(2_000_000));
      busy.stdin.end();
      expect(await busy.exit).toMatchObject({ exit_code: 4 });
    }));

  it('fails a command whose input the template cannot end', () =>
    inside(async (_, runtime_id) => {
      sandbox(runtime_id).envdVersion = '0.5.1';
      const io = await provider.attach({ id: 'sb-old', epoch: 1, runtime_id }, soon());
      const run = exec(io, 'cat', { stdin: true, timeoutMs: 20_000 });
      await run.started;
      run.stdin.end();
      await expect(run.exit).rejects.toMatchObject({ code: 'not_implemented' });
      await until('none runs', () => sandbox(runtime_id).inside.running.size === 0);
    }));

  it('passes arguments unchanged', () =>
    inside(async (io) => {
      const words = ['a b', '"$HOME"', "it's", '', '*', '$(id)'];
      const { stdout } = await runInside(io, ['printf', '%s|', ...words]);
      expect(stdout).toBe(words.map((word) => `${word}|`).join(''));
    }));

  it('kills on request, at the deadline and on an abort', () =>
    inside(async (io, runtime_id) => {
      const none = () => until('none runs', () => sandbox(runtime_id).inside.running.size === 0);
      const killed = exec(io, 'sleep 60');
      await killed.started;
      await io.execs.signal(killed.exec_id, 'SIGTERM');
      expect(await killed.exit).toMatchObject({ exit_code: 143, signal: 'SIGTERM', timed_out: false });
      await none();
      const late = exec(io, 'echo a; sleep 60', { timeoutMs: 1500 });
      for await (const _ of late.output);
      expect(await late.exit).toMatchObject({ timed_out: true });
      await none();
      const stop = new AbortController();
      const aborted = exec(io, 'sleep 60', {}, stop.signal);
      await aborted.started;
      const reason = new Error('gone');
      stop.abort(reason);
      await expect(aborted.exit).rejects.toBe(reason);
      await none();
    }));

  it('runs a program on a terminal of the requested size', () =>
    inside(async (io) => {
      const script =
        'stty size; read word; echo "<$word>"; trap "stty size; exit 4" WINCH; echo ready; while :; do sleep 0.1; done';
      const pty = { rows: 31, cols: 101 };
      const run = exec(io, script, { pty, env: { PROMPT_COMMAND: 'mine' }, timeoutMs: 60_000 });
      let said = '';
      for await (const { data } of run.output) {
        said += data.toString();
        if (said.endsWith('31 101\r\n')) await run.stdin.write(Buffer.from('a word\r'));
        if (said.endsWith('ready\r\n')) await run.resize(40, 90);
      }
      // Nothing of how it was started is shown.
      expect(said.replaceAll('\r', '')).toBe('31 101\na word\n<a word>\nready\n40 90\n');
      expect(await run.exit).toMatchObject({ exit_code: 4, timed_out: false });
    }));

  it('ends the input of a terminal, and a terminal without a program', () =>
    inside(async (io) => {
      const pty = { rows: 24, cols: 80 };
      const cat = exec(io, 'cat; env | grep PROMPT_COMMAND || echo "[none]"; exit 5', {
        pty,
        timeoutMs: 60_000,
      });
      await cat.started;
      cat.stdin.end();
      let said = '';
      for await (const { data } of cat.output) said += data.toString();
      expect(said).toContain('[none]');
      expect(await cat.exit).toMatchObject({ exit_code: 5 });
      const spec = { exec_id: freshId(), argv: ['/no/such'], label: '', env: {}, pty, timeoutMs: 60_000 };
      const missing = io.exec(spec);
      for await (const _ of missing.output);
      expect(await missing.exit).toMatchObject({ exit_code: 127 });
      const plain = exec(io, 'sleep 60');
      await expect(plain.resize(1, 1)).rejects.toMatchObject({ code: 'bad_request' });
      plain.kill();
    }));

  const whole = async (output: AsyncIterable<{ data: Buffer }>) => {
    const parts: Buffer[] = [];
    for await (const { data } of output) parts.push(data);
    return Buffer.concat(parts).toString();
  };

  it('keeps detached commands running after their session and this server end', () =>
    inside(async (io, runtime_id) => {
      const run = exec(io, 'echo one; while [ ! -e go ]; do sleep 0.1; done; echo two; exit 3', {
        detach: true,
      });
      const { exec_id } = run;
      expect(await run.exit).toMatchObject({ exit_code: -1 });
      await until(
        'it speaks',
        async () => (await whole((await io.execs.attach(exec_id, false)).output)) !== '',
      );
      io.close();
      const next = await provider.attach({ id: 'sb-x', epoch: 1, runtime_id }, soon());
      const tail = await next.execs.attach(exec_id, true);
      expect(tail.truncated).toBe(false);
      // A server that knows nothing of it.
      const server = ground.other();
      const there = await server.attach({ id: 'sb-x', epoch: 1, runtime_id }, soon());
      expect(await there.execs.list()).toMatchObject([{ exec_id, state: 'running', detached: true }]);
      const late = await there.execs.attach(exec_id, true);
      expect(late.truncated).toBe(true);
      await next.files.write('/workspace/go', Buffer.alloc(0), {});
      expect(await whole(tail.output)).toBe('one\ntwo\n');
      expect(await tail.exit).toMatchObject({ exit_code: 3 });
      expect(await whole(late.output)).toBe('two\n');
      expect(await late.exit).toMatchObject({ exit_code: 3 });
      expect(await next.execs.list()).toMatchObject([{ exec_id, state: 'exited', exit_code: 3 }]);
      await expect(next.execs.attach('ex-none', true)).rejects.toMatchObject({ code: 'not_found' });
    }));

  it('ends detached commands by signals, at their deadline and with the sandbox', () =>
    inside(async (io) => {
      const caught = exec(io, 'trap "echo caught; exit 9" USR1; echo up; while :; do sleep 0.1; done', {
        detach: true,
      });
      const late = exec(io, 'sleep 60', { detach: true, timeoutMs: 500 });
      const left = exec(io, 'sleep 60', { detach: true });
      await Promise.all([caught.exit, late.exit, left.exit]);
      const seen = await io.execs.attach(caught.exec_id, true);
      for await (const _ of seen.output)
        await io.execs.signal(caught.exec_id, 'SIGUSR1').catch(() => undefined);
      expect(await seen.exit).toMatchObject({ exit_code: 9 });
      const expired = await io.execs.attach(late.exec_id, true);
      expect(await expired.exit).toMatchObject({ exit_code: 137, timed_out: true });
      await expect(io.execs.signal(late.exec_id, 'SIGTERM')).rejects.toMatchObject({ code: 'not_found' });
      await expect(io.execs.signal(left.exec_id, 'SIGNONE')).rejects.toMatchObject({ code: 'bad_request' });
      const killed = await io.execs.attach(left.exec_id, true);
      killed.kill();
      expect(await killed.exit).toMatchObject({ exit_code: 143, signal: 'SIGTERM' });
    }));

  it('keeps only the end of the output of a detached command', () =>
    inside(async (io) => {
      // More than one handle of the library may hold.
      const run = exec(io, 'head -c 20000000 /dev/zero | tr "\\0" x; echo end', { detach: true });
      await run.exit;
      const { exit, truncated } = await io.execs.attach(run.exec_id, true);
      expect(await exit).toMatchObject({ exit_code: 0 });
      const tail = await io.execs.attach(run.exec_id, true);
      const text = await whole(tail.output);
      expect([tail.truncated || truncated, text.length <= 256 * 1024, text.slice(-5)]).toEqual([
        true,
        true,
        'xend\n',
      ]);
    }));

  it('fails a command whose output exceeds the limit', () =>
    inside(async (io) => {
      const run = exec(io, 'head -c 80000000 /dev/zero', { timeoutMs: 60_000 });
      for await (const _ of run.output);
      await expect(run.exit).rejects.toMatchObject({ code: 'resource_limit' });
    }));

  it('hides the commands that it runs for itself', () =>
    inside(async (io) => {
      let held: ServerResponse | undefined;
      backend.instead = (req, res) => {
        if (!req.url?.endsWith('Process/Start')) return false;
        held = res;
        return true;
      };
      const looking = io.files.glob('/workspace/*', 10).catch(() => undefined);
      await until('it is asked', () => held !== undefined);
      expect(await io.execs.list()).toEqual([]);
      await expect(io.execs.signal('files', 'SIGTERM')).rejects.toMatchObject({ code: 'not_found' });
      held?.destroy();
      await looking;
    }));

  it('reads, writes, lists and changes files', () =>
    inside(async ({ files }) => {
      const body = Readable.from([Buffer.from('0123456789')]);
      expect(await files.write('/workspace/d/a', body, { mode: 0o600 })).toEqual({ size: 10, atomic: true });
      expect(await files.stat('/workspace/d/a')).toMatchObject({
        name: 'a',
        size: 10,
        mode: '600',
        type: 'file',
      });
      const read = async (offset: number, length?: number) => {
        const range = { offset, ...(length !== undefined && { length }) };
        const { info, content } = await files.read('/workspace/d/a', range);
        return [info.size, Buffer.concat(await content.toArray()).toString()];
      };
      expect(await read(0)).toEqual([10, '0123456789']);
      expect(await read(3, 4)).toEqual([10, '3456']);
      expect(await read(0, 0)).toEqual([10, '']);
      await files.move('/workspace/d/a', '/workspace/d/b c.txt');
      await files.chmod('/workspace/d/b c.txt', 0o640);
      expect((await files.list('/workspace', 2)).map(({ path }) => path)).toEqual([
        '/workspace/d',
        '/workspace/d/b c.txt',
      ]);
      expect(await files.glob('/workspace/**/*.{txt,md}', 10)).toEqual(['/workspace/d/b c.txt']);
      expect(await files.glob('/workspace/$(touch /workspace/hit)*;touch /workspace/hit', 10)).toEqual([]);
      await expect(files.stat('/workspace/hit')).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.remove('/workspace/d', false)).rejects.toMatchObject({ code: 'conflict' });
      await expect(files.mkdir('/workspace/d', { parents: false })).rejects.toMatchObject({
        code: 'conflict',
      });
      await expect(files.read('/workspace/d', { offset: 0 })).rejects.toMatchObject({ code: 'bad_request' });
      await files.remove('/workspace/d', true);
      await expect(files.stat('/workspace/d')).rejects.toMatchObject({ code: 'not_found' });
    }));

  it('lists every page of the backend', async () => {
    const refs = await Promise.all(
      [freshId(), freshId(), freshId()].map(async (id) => {
        const { runtime_id } = await provider.create(runtimeSpec(id), soon());
        return { id, epoch: 1, runtime_id };
      }),
    );
    try {
      const listed = await provider.list(soon());
      expect(listed?.map(({ runtime_id }) => runtime_id)).toEqual(
        expect.arrayContaining(refs.map(({ runtime_id }) => runtime_id)),
      );
    } finally {
      for (const ref of refs) await provider.destroy(ref, soon());
    }
  });

  it('extends a sandbox whose end at the backend is near', () =>
    inside(async (_, runtime_id) => {
      sandbox(runtime_id).endAt = new Date(Date.now() + 60_000).toISOString();
      await provider.list(soon());
      expect(Date.parse(sandbox(runtime_id).endAt)).toBeGreaterThan(Date.now() + 30 * 60_000);
    }));

  const say =
    (status: number, headers: object = {}, body: string | Buffer = MARK) =>
    (res: ServerResponse) =>
      void res.writeHead(status, headers as Record<string, string>).end(body);
  const asJson = { 'content-type': 'application/json' };
  const stream = { 'content-type': 'application/connect+json' };
  const error = (code: string) => frame({ error: { code, message: MARK } }, 2);
  const begun = frame({ event: { start: { pid: 999_999_999 } } });

  /** Where, what it answers there, and what comes of it. */
  const HOSTILE: readonly [
    string,
    'list' | 'create' | 'stat' | 'exec' | 'read',
    (res: ServerResponse) => void,
    RegExp,
  ][] = [
    ['redirects a listing', 'list', say(302, { location: 'http://169.254.169.254/' }), /^provider_error$/],
    ['redirects a command', 'exec', say(307, { location: '/x' }), /^provider_error$/],
    ['redirects a file', 'read', say(301, { location: '/x' }), /^provider_error$/],
    [
      'compresses',
      'list',
      say(200, { ...asJson, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(1 << 20))),
      /^provider_error$/,
    ],
    ['speaks no JSON', 'list', say(200, asJson), /^provider_error$/],
    ['lists no list', 'list', say(200, asJson, '{"a":1}'), /^provider_error$/],
    ['lists null', 'list', say(200, asJson, '[null]'), /^provider_error$/],
    [
      'gives an id that is a path',
      'create',
      say(201, asJson, '{"sandboxID":"../x","envdVersion":"0.6.5"}'),
      /^provider_error$/,
    ],
    ['gives no id', 'create', say(201, asJson, '{}'), /^provider_error$/],
    [
      'says 400',
      'create',
      say(400, asJson, `{"code":400,"message":"${MARK}"}`),
      /^(?:bad_request|provider_error)$/,
    ],
    ['says 401', 'list', say(401, asJson, `{"code":401,"message":"${MARK}"}`), /^provider_error$/],
    ['says 403', 'list', say(403, asJson, `{"code":403,"message":"${MARK}"}`), /^provider_error$/],
    [
      'says 404 of a template',
      'create',
      say(404, asJson, `{"code":404,"message":"${MARK}"}`),
      /^(?:not_found|provider_error)$/,
    ],
    ['says 429', 'create', say(429, asJson, `{"code":429,"message":"${MARK}"}`), /^resource_limit$/],
    ['says 500', 'list', say(500, asJson, `{"code":500,"message":"${MARK}"}`), /^provider_error$/],
    ['says 503', 'list', say(503, asJson, `{"code":503,"message":"${MARK}"}`), /^unavailable$/],
    ['says 418', 'list', say(418), /^provider_error$/],
    ['goes away', 'list', (res) => void res.destroy(), /^unavailable$/],
    [
      'goes away in its answer',
      'list',
      (res) => void res.writeHead(200, asJson).write('[', () => res.destroy()),
      /^(?:unavailable|provider_error)$/,
    ],
    [
      'says not_found of a file',
      'stat',
      say(404, asJson, `{"code":"not_found","message":"${MARK}"}`),
      /^not_found$/,
    ],
    [
      'says unavailable',
      'stat',
      say(503, asJson, `{"code":"unavailable","message":"${MARK}"}`),
      /^unavailable$/,
    ],
    [
      'says resource_exhausted',
      'stat',
      say(429, asJson, `{"code":"resource_exhausted","message":"${MARK}"}`),
      /^resource_limit$/,
    ],
    [
      'says an error of its own',
      'stat',
      say(500, asJson, `{"code":"${MARK}","message":"${MARK}"}`),
      /^provider_error$/,
    ],
    ['tells of no file', 'stat', say(200, asJson, '{}'), /^provider_error$/],
    ['says 507', 'read', say(507, asJson, `{"code":507,"message":"${MARK}"}`), /^resource_limit$/],
    ['says 502 of a file', 'read', say(502, asJson, `{"code":502,"message":"${MARK}"}`), /^unavailable$/],
    ['starts no command', 'exec', say(200, stream, error('unavailable')), /^unavailable$/],
    ['refuses a command', 'exec', say(200, stream, error('invalid_argument')), /^bad_request$/],
    [
      'starts with an end',
      'exec',
      say(200, stream, frame({ event: { end: { exitCode: 0 } } })),
      /^provider_error$/,
    ],
    [
      'breaks a command off',
      'exec',
      say(200, stream, Buffer.concat([begun, error('internal')])),
      /^provider_error$/,
    ],
    [
      'ends a command without an end',
      'exec',
      say(200, stream, Buffer.concat([begun, frame({}, 2)])),
      /^provider_error$/,
    ],
    [
      'sends a frame without an end',
      'exec',
      say(200, stream, Buffer.from([0, 255, 255, 255, 255, 123])),
      /^(?:bad_request|provider_error|unavailable)$/,
    ],
    ['sends no frames', 'exec', say(200, stream), /^(?:bad_request|provider_error|unavailable)$/],
  ];
  const AT = {
    list: /^GET \/v2\/sandboxes/,
    create: /^POST \/v2\/sandboxes$/,
    stat: /Filesystem\/Stat$/,
    exec: /Process\/Start$/,
    read: /^GET \/files/,
  };

  it.each(HOSTILE)('that %s gives a typed error without its text', (_, where, answers, code) =>
    inside(async (io) => {
      await io.files.write('/workspace/a', Buffer.from('a'), {});
      backend.instead = (req, res) => {
        if (!AT[where].test(`${req.method} ${req.url}`)) return false;
        answers(res);
        return true;
      };
      const calls: Record<keyof typeof AT, () => Promise<unknown>> = {
        list: () => provider.list(soon()),
        create: () => provider.create(runtimeSpec(freshId()), soon()),
        stat: () => io.files.stat('/workspace/a'),
        exec: () => runInside(io, ['true']),
        read: async () => (await io.files.read('/workspace/a', { offset: 0 })).content.toArray(),
      };
      const failed = await calls[where]().then(
        () => undefined,
        (error: { code?: string }) => error,
      );
      expect(failed?.code).toMatch(code);
      const { message, remedy, cause } = failed as { message?: string; remedy?: string; cause?: unknown };
      expect(`${message} ${remedy} ${String(cause)}`).not.toContain(MARK);
    }),
  );
});
