// `svc sandbox exec` as a part of a pipeline: whoever stands before or behind it may be slow, gone, or without end.
import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
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
  const nothingRuns = () =>
    until(
      'the command to be gone',
      async () => (await client.execs.list(id)).every(({ state }) => state !== 'running'),
      60_000,
    );

  it('ends quietly when its reader has enough, and the command with it', async () => {
    const { child, ended } = exec(['--', 'yes']);
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended).toEqual(quietly);
    await nothingRuns();
  });

  it('ends when nobody reads its errors', async () => {
    const { child, ended } = exec(['--shell', '--', 'yes >&2']);
    child.stderr?.once('data', () => child.stderr?.destroy());
    expect(await ended).toMatchObject({ code: 0, signal: null });
    await nothingRuns();
  });

  it('ends with a command that leaves its input, though that stays open or never ends', async () => {
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

  it('takes a closed input for an empty one, and no output for one that nobody wants', async () => {
    const sh = (line: string) =>
      new Promise<number | null>((resolve) => {
        const env = { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url };
        const words = ['sh', '-c', line, process.execPath, cli, id] as const;
        const child = spawn(words[0], words.slice(1), { env, stdio: ['ignore', 'ignore', 'inherit'] });
        started.push(child);
        child.once('close', resolve);
      });
    expect(await sh('"$0" "$1" sandbox exec "$2" -i -- sh -c "cat; exit 3" <&-')).toBe(3);
    expect(await sh('"$0" "$1" sandbox exec "$2" -- sh -c "echo x; exit 4" >&-')).toBe(4);
  });

  it('says in a word that its output has no room', async () => {
    const { ended } = exec(['--', 'yes'], ['ignore', openSync('/dev/full', 'w')]);
    const { code, stderr } = await ended;
    expect(code).toBe(125);
    expect(stderr).toMatch(/^Error: The output cannot be written\.\n {2}reason: ENOSPC\nTry: /);
    await nothingRuns();
  });

  it('carries megabytes through whole', async () => {
    const { child, ended } = exec(['-i', '--', 'cat']);
    const sent = Buffer.alloc(3_000_000, 'abcdefg');
    child.stdin?.end(sent);
    const parts: Buffer[] = [];
    child.stdout?.on('data', (part: Buffer) => parts.push(part));
    expect(await ended).toEqual(quietly);
    expect(Buffer.concat(parts).equals(sent)).toBe(true);
  });

  it('leaves an open input alone without -i, so that a command that reads ends at once', async () => {
    expect(await exec(['--', 'cat']).ended).toEqual(quietly);
    expect(await exec(['--no-stdin', '--', 'cat']).ended).toEqual(quietly);
  });

  it('leaves the lines of a loop to the loop', async () => {
    const loop =
      'printf "a\nb\nc\n" | while read -r line; do "$0" "$1" sandbox exec "$2" -- echo "$line"; done';
    const child = spawn('sh', ['-c', loop, process.execPath, cli, id], {
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    expect(await child.stdout?.toArray().then((parts) => Buffer.concat(parts).toString())).toBe('a\nb\nc\n');
  });

  it('says on a terminal that piped input is not passed on', async () => {
    const onTerminal = async (flag: string) => {
      const line = `echo data | "${process.execPath}" "${cli}" sandbox exec ${id} ${flag} -- wc -c`;
      const child = spawn('script', ['-qec', line, '/dev/null'], {
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      return Buffer.concat(await child.stdout.toArray()).toString();
    };
    expect(await onTerminal('')).toBe(
      'Standard input is not passed to the command. Use -i to pass it, --no-stdin to hide this.\r\n0\r\n',
    );
    expect(await onTerminal('--no-stdin')).toBe('0\r\n');
    expect(await onTerminal('-i')).toBe('5\r\n');
  });
});
