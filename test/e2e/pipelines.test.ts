// `svc sandbox exec` as a part of a pipeline: whoever stands before or behind it may be slow, gone, or without end.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { describeWith } from '../support/requires.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

describeWith(['unshare'], 'svc sandbox exec in a pipeline', () => {
  let server: TestServer;
  let client: Client;
  let id: string;
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    client = new Client({ server: server.url });
    id = (await client.spawn({ ttl: '1h' })).id;
  });
  afterAll(async () => {
    for (const child of started) child.kill('SIGKILL');
    await client.close();
    await server.stop();
    removeHome(server.home);
  });

  const exec = (
    words: readonly string[],
    stdio: [NonNullable<unknown>, NonNullable<unknown>] = ['pipe', 'pipe'],
  ): { child: ChildProcess; ended: Promise<Ended> } => {
    const child = spawn(process.execPath, [cli, 'sandbox', 'exec', id, ...words], {
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
      stdio: [...(stdio as ['pipe', 'pipe']), 'pipe'],
    });
    started.push(child);
    child.stdin?.on('error', () => undefined);
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal, stderr })),
    );
    return { child, ended };
  };
  const quietly = { code: 0, signal: null, stderr: '' };
  /** A line for sh in a folder of its own; $SVC is `svc sandbox exec` with the sandbox. */
  const sh = async (line: string) => {
    const script = `SVC="$NODE $CLI sandbox exec $ID"; cd "$(mktemp -d)"; ${line}`;
    const child = spawn('sh', ['-c', script], {
      env: {
        ...{ PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
        ...{ NODE: process.execPath, CLI: cli, ID: id },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.push(child);
    const [code, stdout, stderr] = await Promise.all([
      once(child, 'close').then(([status]) => status as number | null),
      child.stdout.toArray(),
      child.stderr.toArray(),
    ]);
    return { code, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
  };
  const nothingRuns = () =>
    until(
      'the command to be gone',
      async () => (await client.execs.list(id)).every(({ state }) => state !== 'running'),
      60_000,
    );

  it('ends quietly with its command when its reader closes the pipe', async () => {
    const { child, ended } = exec(['--', 'yes']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended).toEqual(quietly);
    await nothingRuns();
  });

  it('ends when its standard error is closed', async () => {
    const { child, ended } = exec(['--shell', '--', 'yes >&2']);
    child.stderr?.once('data', () => child.stderr?.destroy());
    expect(await ended).toMatchObject({ code: 0, signal: null });
    await nothingRuns();
  });

  it('ends with a command that does not read its input, though the input stays open', async () => {
    const waiting = exec(['-i', '--', 'true']);
    expect(await waiting.ended).toEqual(quietly);
    const flooded = exec(['-i', '--', 'head', '-1']);
    const stdin = flooded.child.stdin;
    const pour = () => {
      while (stdin?.writable && stdin.write('y\n'.repeat(8192)));
    };
    stdin?.on('drain', pour);
    pour();
    expect(await flooded.ended).toEqual(quietly);
  });

  it('treats a closed input as empty, and a closed output as discarded', async () => {
    const status = (line: string) =>
      new Promise<number | null>((resolve) => {
        const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url };
        const words = ['sh', '-c', line, process.execPath, cli, id] as const;
        const child = spawn(words[0], words.slice(1), { env, stdio: ['ignore', 'ignore', 'inherit'] });
        started.push(child);
        child.once('close', resolve);
      });
    expect(await status('"$0" "$1" sandbox exec "$2" -i -- sh -c "cat; exit 3" <&-')).toBe(3);
    expect(await status('"$0" "$1" sandbox exec "$2" -- sh -c "echo x; exit 4" >&-')).toBe(4);
  });

  it('reports in one message that its output cannot be written', async () => {
    const { ended } = exec(['--', 'yes'], ['ignore', openSync('/dev/full', 'w')]);
    const { code, stderr } = await ended;
    expect(code).toBe(125);
    expect(stderr).toMatch(/^Error: The output cannot be written\.\n {2}reason: ENOSPC\nTry: /);
    await nothingRuns();
  });

  it('carries megabytes completely', async () => {
    const { child, ended } = exec(['-i', '--', 'cat']);
    const sent = Buffer.alloc(3_000_000, 'abcdefg');
    child.stdin?.end(sent);
    const parts: Buffer[] = [];
    child.stdout?.on('data', (part: Buffer) => parts.push(part));
    expect(await ended).toEqual(quietly);
    expect(Buffer.concat(parts).equals(sent)).toBe(true);
  });

  it.each([
    ['a pipe', 'printf "one\\ntwo\\n" | $SVC -- cat', 'one\ntwo\n'],
    ['a file', 'printf "one\\ntwo\\n" >f; $SVC -- cat <f', 'one\ntwo\n'],
    ['a line for the shell', 'echo word | $SVC -- sh -c \'read x; echo "$x!"\'', 'word!\n'],
    ['an empty file', ': >f; $SVC -- wc -c <f', '0\n'],
    ['/dev/null', '$SVC -- wc -c </dev/null', '0\n'],
    ['a closed input', '$SVC -- wc -c <&-', '0\n'],
    [
      'a device, on request only',
      '$SVC -- wc -c </dev/zero; $SVC -i -- head -c 3 </dev/zero | wc -c',
      '0\n3\n',
    ],
    ['nothing with --no-stdin', 'echo word | $SVC --no-stdin -- wc -c', '0\n'],
  ])('passes on %s', async (_, line, output) => {
    expect(await sh(line)).toEqual({ code: 0, stdout: output, stderr: '' });
  });

  it('accepts --no-stdin with --detach, and refuses -i', async () => {
    const { code, stdout } = await sh('echo word | $SVC --detach --no-stdin -- cat');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ex-\w+\n$/)]);
    const refused = await sh('echo word | $SVC --detach -i -- cat');
    expect([refused.code, refused.stderr]).toEqual([125, expect.stringContaining('--detach')]);
  });

  it('passes input to svc sandbox run', async () => {
    const { code, stdout } = await sh('echo word | "$NODE" "$CLI" sandbox run -- tr a-z A-Z');
    expect([code, stdout]).toEqual([0, 'WORD\n']);
  });

  it('passes every byte in both directions', async () => {
    const { child, ended } = exec(['--', 'cat']);
    const sent = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 31 + (at >> 8)) % 256));
    child.stdin?.end(sent);
    const parts = child.stdout?.toArray();
    expect(await ended).toEqual(quietly);
    expect(Buffer.concat((await parts) ?? []).equals(sent)).toBe(true);
  });

  it('ends at once with a command that does not read ten megabytes', async () => {
    expect(await sh('head -c 10000000 /dev/zero | $SVC -- true')).toMatchObject({ code: 0, stderr: '' });
    expect(
      await sh('head -c 10000000 /dev/zero | $SVC -- sh -c "exec <&-; sleep 0.2; exit 3"'),
    ).toMatchObject({
      code: 3,
      stderr: '',
    });
  });

  it('carries a hundred megabytes in little memory', { timeout: 180_000 }, async () => {
    const flood = spawn('head', ['-c', '100000000', '/dev/zero'], { stdio: ['ignore', 'pipe', 'inherit'] });
    started.push(flood);
    const counted = exec(['--', 'wc', '-c'], [flood.stdout, 'pipe']);
    const parts = counted.child.stdout?.toArray();
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, peakMegabytes(counted.child.pid));
    }, 20);
    expect(await counted.ended).toEqual(quietly);
    clearInterval(watch);
    expect(Buffer.concat((await parts) ?? []).toString()).toBe('100000000\n');
    expect(peak).toBeGreaterThan(20);
    expect(peak).toBeLessThan(160);
  });

  it('prints one document with --json, as without input', async () => {
    const command = 'echo out; echo err >&2; cat; exit 3';
    const without = await sh(`$SVC --json -- sh -c '${command}' </dev/null`);
    const withInput = await sh(`echo word | $SVC --json -- sh -c '${command}'`);
    const [plain, live] = [without, withInput].map(({ stdout }) => JSON.parse(stdout));
    expect(Object.keys(live)).toEqual(Object.keys(plain));
    const shape = (of: object) => Object.entries(of).map(([name, value]) => [name, typeof value]);
    expect(shape(live)).toEqual(shape(plain));
    const own = { exec_id: plain.exec_id, duration: plain.duration, duration_ms: plain.duration_ms };
    expect({ ...live, ...own }).toEqual({ ...plain, stdout: 'out\nword\n' });
    expect([without.code, withInput.code]).toEqual([3, 3]);
  });

  it('prints one failure with --json at the deadline, as without input', async () => {
    const words = `--timeout 300ms --json --shell -- 'echo begun; echo "exec timeout: $ID" >&2; sleep 60'`;
    const [without, withInput] = [
      await sh(`$SVC ${words} </dev/null`),
      await sh(`echo word | $SVC ${words}`),
    ];
    expect([without.code, withInput.code]).toEqual([124, 124]);
    const [plain, live] = [without, withInput].map(({ stdout }) => JSON.parse(stdout));
    expect(live.error.request_id).not.toBe(plain.error.request_id);
    const own = { request_id: plain.error.request_id };
    const details = { ...live.error.details, exec_id: plain.error.details.exec_id };
    expect({ error: { ...live.error, ...own, details } }).toEqual(plain);
  });

  it('fails as without input when the command cannot start', async () => {
    const plain = await sh('$SVC --timeout 100h --json -- true </dev/null');
    const live = await sh('echo word | $SVC --timeout 100h --json -- true');
    const parsed = [plain, live].map(({ stdout }) => JSON.parse(stdout).error);
    expect(parsed[0]).toMatchObject({ code: 'resource_limit', request_id: expect.any(String) });
    expect({ ...parsed[1], request_id: parsed[0].request_id }).toEqual(parsed[0]);
    expect([plain.code, live.code]).toEqual([125, 125]);
  });

  it('ends with its command though its input is idle and open', async () => {
    expect(await exec(['--', 'sh', '-c', 'echo x; exit 5']).ended).toEqual({ ...quietly, code: 5 });
    expect(await exec(['--no-stdin', '--', 'cat']).ended).toEqual(quietly);
  });

  it('ends its command on Ctrl-C, with idle input and with unread input', async () => {
    const idle = exec(['--', 'sleep', '1000']);
    const flooded = exec(['--', 'sleep', '1000']);
    for (let n = 0; n < 100; n += 1) flooded.child.stdin?.write(Buffer.alloc(100_000));
    const running = async () => (await client.execs.list(id)).filter(({ state }) => state === 'running');
    await until('both to run', async () => (await running()).length === 2);
    await until('some input to be on its way', () => (flooded.child.stdin?.writableLength ?? 0) < 10_000_000);
    for (const { child } of [idle, flooded]) child.kill('SIGINT');
    expect(await idle.ended).toEqual({ ...quietly, code: 130 });
    expect(await flooded.ended).toEqual({ ...quietly, code: 130 });
    await nothingRuns();
  });

  it('does not consume the input of a shell loop with --no-stdin or /dev/null', async () => {
    const loop = (words: string, rest = '') =>
      sh(`printf "a\\nb\\nc\\n" | while read -r line; do $SVC ${words} -- echo "$line"${rest}; done`);
    expect(await loop('--no-stdin')).toEqual({ code: 0, stdout: 'a\nb\nc\n', stderr: '' });
    expect(await loop('', ' </dev/null')).toEqual({ code: 0, stdout: 'a\nb\nc\n', stderr: '' });
    const read = `printf "a\\nb\\nc\\n" | while read -r line; do echo "$line:"; $SVC -- cat; done`;
    expect((await sh(read)).stdout).toBe('a:\nb\nc\n');
  });

  it('passes piped input on when its output is a terminal, and no terminal input without -i', async () => {
    const onTerminal = async (line: string) => {
      const child = spawn('script', ['-qec', line, '/dev/null'], {
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return Buffer.concat(await child.stdout.toArray()).toString();
    };
    const svc = `"${process.execPath}" "${cli}" sandbox exec ${id}`;
    expect(await onTerminal(`echo data | ${svc} -- wc -c`)).toBe('5\r\n');
    expect(await onTerminal(`echo data | ${svc} --no-stdin -- wc -c`)).toBe('0\r\n');
    expect(await onTerminal(`${svc} -- wc -c`)).toBe('0\r\n');
  });
});

/** The most memory that the process has had so far; 0 when it has ended. */
function peakMegabytes(pid: number | undefined): number {
  try {
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return 0;
  }
}
