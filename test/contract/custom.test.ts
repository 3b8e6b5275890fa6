// The custom provider over the example backend: the contract of every provider, and what a backend behind HTTP adds to it.
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import {
  BackendFixture,
  shell as exec,
  listsOnAccount,
  PROMISES,
} from '../support/scripted/backend-fixture.ts';
import { brokenBackend, type Change } from '../support/scripted/broken-backend.ts';
import { type CustomBackend, customBackend, type ExampleSandbox } from '../support/servers/custom-backend.ts';
import { until } from '../support/until.ts';
import { providerContract } from './provider.suite.ts';

const D = '/workspace/d';
const A = `${D}/a`;
const idle = async () => undefined;
const upwards = (piece: string) => piece.replaceAll(`${D}/`, `${D}/../d/`);
const read = (files: SandboxIo['files']) => files.read(A, { offset: 3, length: 2 });

describeWith(['bwrap'], 'a custom backend', () => {
  let backend: CustomBackend;
  let ground: BackendFixture<ExampleSandbox>;

  beforeAll(async () => {
    backend = await customBackend({ isJailed: true });
    ground = new BackendFixture(backend);
  });
  afterAll(async () => {
    await ground.close();
    await backend.close();
    expect([...backend.sandboxes.keys()]).toEqual([]);
    expect(readdirSync(tmpdir()).filter((name) => folders.has(join(tmpdir(), name)))).toEqual([]);
  });
  const folders = new Set<string>();
  const sandbox = (runtime_id: string) => ground.sandbox(runtime_id);

  providerContract({ ...PROMISES, moments: [0, 1, 2, 5, 10] }, () => ground.contract('stopped'));

  const inside = (use: (io: SandboxIo, runtime_id: string) => Promise<void>) =>
    ground.inside((io, runtime_id) => {
      folders.add(sandbox(runtime_id).folder);
      return use(io, runtime_id);
    });

  it('gives commands their input, environment and folder, and separates their outputs', () =>
    inside(async (io) => {
      await io.files.mkdir('/workspace/sub', { parents: false });
      const run = exec(io, 'pwd; echo "$WORD" >&2; cat; exit 3', {
        ...{ env: { WORD: 'hé' }, workdir: '/workspace/sub', stdin: true, timeoutMs: 20_000 },
      });
      await run.started;
      expect(run.startsAtInputEnd).toBe(true);
      expect(exec(io, 'true', { timeoutMs: 20_000 }).startsAtInputEnd).toBeUndefined();
      await run.stdin.write(Buffer.from([0xff, 0]));
      await run.stdin.write(Buffer.from('end'));
      run.stdin.end();
      const parts: Record<string, Buffer> = {};
      for await (const { channel, data } of run.output)
        parts[channel] = Buffer.concat([parts[channel] ?? Buffer.alloc(0), data]);
      expect(parts.stdout).toEqual(
        Buffer.concat([Buffer.from('/workspace/sub\n'), Buffer.from([0xff, 0]), Buffer.from('end')]),
      );
      expect(parts.stderr?.toString()).toBe('hé\n');
      expect(await run.exit).toMatchObject({ exit_code: 3, timed_out: false });
    }));

  it('streams output while the command runs', () =>
    inside(async (io) => {
      const run = exec(io, 'echo one; read line < /dev/zero; sleep 60', { timeoutMs: 60_000 });
      for await (const { data } of run.output) {
        expect(data.toString()).toBe('one\n');
        break;
      }
      // Its reader has left.
      expect(await run.exit).toMatchObject({ exit_code: 137 });
    }));

  it('kills on request, at the deadline, on an abort and when the sandbox is destroyed', () =>
    inside(async (io, runtime_id) => {
      const none = async () => until('none runs', () => sandbox(runtime_id).kills.size === 0);
      const killed = exec(io, 'sleep 60');
      await killed.started;
      await io.execs.signal(killed.exec_id, 'SIGTERM');
      expect(await killed.exit).toMatchObject({ exit_code: 137, timed_out: false });
      await none();
      const late = exec(io, 'sleep 60', { timeoutMs: 300 });
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
      const running = exec(io, 'sleep 60');
      await running.started;
      expect(await io.execs.list()).toMatchObject([{ exec_id: running.exec_id, state: 'running' }]);
      sandbox(runtime_id).state = 'stopped';
      await expect(io.ping()).rejects.toMatchObject({ code: 'unavailable' });
      await expect(running.exit).rejects.toMatchObject({ code: 'unavailable' });
      await io.closed;
    }));

  it('carries 64 MB out of a command', () =>
    inside(async (io) => {
      const run = exec(io, 'head -c 67108864 /dev/zero', { timeoutMs: 60_000 });
      let size = 0;
      for await (const { data } of run.output) size += data.length;
      expect(size).toBe(67_108_864);
      expect(await run.exit).toMatchObject({ exit_code: 0 });
    }));

  it('reports a command that cannot start, and answers not_implemented to what it lacks', () =>
    inside(async (io) => {
      expect(await runInside(io, ['/no/such/program'])).toMatchObject({ exit_code: expect.any(Number) });
      await expect(exec(io, 'true', { workdir: '/workspace/none' }).exit).rejects.toMatchObject({
        code: 'bad_request',
      });
      for (const more of [{ detach: true }, { pty: { rows: 1, cols: 1 } }])
        await expect(exec(io, 'true', more).started).rejects.toMatchObject({ code: 'not_implemented' });
      await expect(io.connect(80)).rejects.toMatchObject({ code: 'not_implemented' });
      expect(() => io.console({ lines: 1, follow: false })).toThrow('console');
      await expect(io.execs.attach('x', false)).rejects.toMatchObject({ code: 'not_implemented' });
    }));

  it('reads, writes, lists and changes files', () =>
    inside(async ({ files }) => {
      const content = Buffer.from('0123456789');
      expect(await files.write('/workspace/d/a', Readable.from([content]), { mode: 0o600 })).toMatchObject({
        size: 10,
      });
      expect(await files.stat('/workspace/d/a')).toMatchObject({
        name: 'a',
        size: 10,
        mode: '600',
        type: 'file',
      });
      const read = async (offset: number, length?: number) => {
        const { info, content } = await files.read('/workspace/d/a', {
          offset,
          ...(length !== undefined && { length }),
        });
        return [info.size, Buffer.concat(await content.toArray()).toString()];
      };
      expect(await read(0)).toEqual([10, '0123456789']);
      expect(await read(3, 4)).toEqual([10, '3456']);
      expect(await read(8)).toEqual([10, '89']);
      expect(await read(0, 0)).toEqual([10, '']);
      await files.mkdir('/workspace/e/f', { parents: true, mode: 0o700 });
      await files.move('/workspace/d/a', '/workspace/e/b.txt');
      await files.chmod('/workspace/e/b.txt', 0o640);
      const names = (found: { path: string }[]) => found.map(({ path }) => path).sort();
      expect(names(await files.list('/workspace', 1))).toEqual(['/workspace/d', '/workspace/e']);
      expect(names(await files.list('/workspace', 2))).toContain('/workspace/e/f');
      expect(await files.glob('/workspace/**/*.{txt,md}', 10)).toEqual(['/workspace/e/b.txt']);
      await expect(files.remove('/workspace/e', false)).rejects.toMatchObject({ code: 'conflict' });
      await files.remove('/workspace/e', true);
      await expect(files.stat('/workspace/e')).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.read('/workspace/d', { offset: 0 })).rejects.toMatchObject({ code: 'bad_request' });
      await expect(files.mkdir('/workspace/d', { parents: false })).rejects.toMatchObject({
        code: 'conflict',
      });
      await expect(files.read('/etc/passwd', { offset: 0 })).rejects.toMatchObject({ code: 'forbidden' });
    }));

  /** A request that the backend takes for another one, or its answer changed. */
  const MIXED: readonly [what: string, change: Change, ask: (io: SandboxIo) => Promise<unknown>][] = [
    ['sandbox', { at: 'GET /status/', says: (piece) => piece.replace(/"id":"[^"]+"/, '"id":"other"') }, idle],
    [
      'file',
      { at: 'GET /files/stat', url: (url) => url.replace('%2Fa', '%2Fb') },
      ({ files }) => files.stat(A),
    ],
    [
      'file',
      { at: 'GET /files/stat', url: (url) => url.replace('%2Fa', '%2Fb') },
      ({ files }) => read(files),
    ],
    [
      'file',
      { at: 'GET /files/list', url: (url) => url.replace('%2Fd', '') },
      ({ files }) => files.list(D, 1),
    ],
    ['file', { at: 'GET /files/list', says: upwards }, ({ files }) => files.list(D, 1)],
    ['part of the file', { at: 'GET /files?', headers: { range: 'bytes=0-1' } }, ({ files }) => read(files)],
  ];
  it('refuses an answer about another sandbox, another file or another range', () =>
    inside(async ({ files }, runtime_id) => {
      for (const path of [A, '/workspace/d/b']) await files.write(path, Buffer.from('0123456789'), {});
      for (const [what, change, ask] of MIXED) {
        const front = await brokenBackend(backend, [change]);
        const through = backend.provider(undefined, { base_url: front.url });
        try {
          const asked = through.attach({ id: 'sb-x', epoch: 1, runtime_id }, soon()).then(ask);
          await expect(asked).rejects.toMatchObject({
            ...{ code: 'provider_error', message: expect.stringMatching(`another ${what}\\.$`) },
          });
        } finally {
          await through.close();
          await front.close();
        }
      }
    }));

  it('counts the bytes of a listing, and gives up at their limit', () =>
    inside(({ files }) => listsOnAccount(files)));

  it.each([404, 410])(
    'reports that the sandbox of a command has ended when the backend answers %i',
    (status) =>
      inside(async (_io, runtime_id) => {
        const front = await brokenBackend(backend, [{ at: 'POST /exec', status, json: {} }]);
        const through = backend.provider(undefined, { base_url: front.url });
        try {
          const io = await through.attach({ id: 'sb-x', epoch: 1, runtime_id }, soon());
          await expect(exec(io, 'true', { timeoutMs: 20_000 }).exit).rejects.toMatchObject({
            code: 'not_found',
          });
        } finally {
          await through.close();
          await front.close();
        }
      }),
  );

  it('keeps the old file when an upload is cut', () =>
    inside(async ({ files }, runtime_id) => {
      await files.write('/workspace/a', Buffer.from('old'), {});
      const cut = Readable.from(
        (async function* () {
          yield Buffer.alloc(1 << 20);
          throw new Error('the reader has gone');
        })(),
      );
      await expect(files.write('/workspace/a', cut, {})).rejects.toThrow();
      await until('the half is cleared', () => readdirSync(sandbox(runtime_id).folder).length === 1);
      const { content } = await files.read('/workspace/a', { offset: 0 });
      expect(Buffer.concat(await content.toArray()).toString()).toBe('old');
    }));
});
