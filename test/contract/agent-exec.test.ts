// Commands through the real agent.
import { expect, test } from 'vitest';
import type { Exec, ExecSpec, SandboxIo } from '../../src/agent/io.ts';
import { AGENTS, isSanitized } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

let count = 0;
function specOf(argv: string[], more: Partial<ExecSpec> = {}): ExecSpec {
  count += 1;
  return {
    exec_id: `ex-${count}`,
    argv,
    label: argv.join(' '),
    env: { PATH: process.env.PATH ?? '' },
    ...more,
  };
}
const shell = (script: string, more: Partial<ExecSpec> = {}) => specOf(['sh', '-c', script], more);

async function outcome(exec: Exec) {
  const all = { stdout: '', stderr: '' };
  for await (const { channel, data } of exec.output) all[channel] += data.toString();
  return { ...all, ...(await exec.exit) };
}
const run = (io: SandboxIo, spec: ExecSpec) => outcome(io.exec(spec));

async function lengthOf(output: Exec['output']): Promise<number> {
  let length = 0;
  for await (const { data } of output) length += data.length;
  return length;
}

for (const { way, startAgent } of AGENTS)
  describeWith(['cc'], `exec ${way}`, () => {
    test('runs a shell with its own environment and workdir', async () => {
      const agent = await startAgent();
      const io = await agent.open();
      const env = { PATH: process.env.PATH ?? '', A: 'eins zwei' };
      const result = await run(io, shell('echo "$A"; pwd; echo oops >&2; exit 7', { env, workdir: '/tmp' }));
      expect(result).toMatchObject({
        stdout: 'eins zwei\n/tmp\n',
        stderr: 'oops\n',
        exit_code: 7,
        timed_out: false,
      });
      expect((await run(io, shell('pwd'))).stdout).toBe(`${agent.folder}\n`);
      expect((await run(io, shell('cat'))).stdout).toBe('');
    });

    test('passes arguments unchanged', async () => {
      const io = await (await startAgent()).open();
      const argv = ['printf', '[%s]', 'a b', '', '$HOME', "'", 'ü\n', '*'];
      expect((await run(io, specOf(argv))).stdout).toBe("[a b][][$HOME]['][ü\n][*]");
      const long = 'x'.repeat(131_071);
      expect((await run(io, specOf(['printf', '%s', long]))).stdout).toBe(long);
      const many = Array.from({ length: 15 }, () => 'y'.repeat(100_000));
      expect((await run(io, specOf(['printf', '%s', ...many]))).stdout).toBe(many.join(''));
    });

    test.each([
      ['true', 0],
      ['exit 1', 1],
      ['exit 126', 126],
      ['exit 255', 255],
      ['no-such-program-here', 127],
    ])('%s ends with %i', async (script, exit_code) => {
      const io = await (await startAgent()).open();
      expect(await run(io, shell(script))).toMatchObject({ exit_code });
    });

    test('reports the signal that killed a command', async () => {
      const io = await (await startAgent()).open();
      expect(await run(io, shell('kill -9 $$'))).toMatchObject({ exit_code: 137, signal: 'SIGKILL' });
      expect(await run(io, shell('kill -TERM $$'))).toMatchObject({ exit_code: 143, signal: 'SIGTERM' });
    });

    test('answers 127 for a missing program, 126 for one that cannot run, not_found for a missing workdir', async () => {
      const io = await (await startAgent()).open();
      const gone = await run(io, specOf(['/no/such/program']));
      expect(gone.exit_code).toBe(127);
      expect(gone.stderr).not.toBe('');
      expect((await run(io, specOf(['/etc/passwd']))).exit_code).toBe(126);
      const lost = io.exec(shell('true', { workdir: '/no/such/folder' }));
      await expect(lost.exit).rejects.toMatchObject({ code: 'not_found' });
      await expect(lost.started).rejects.toMatchObject({ code: 'not_found' });
    });

    test('echoes 16 MiB from stdin to stdout', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(specOf(['cat'], { stdin: true }));
      const block = Buffer.alloc(1024 * 1024, 'abcdefg');
      const writing = (async () => {
        for (let sent = 0; sent < 16; sent += 1) await exec.stdin.write(block);
        exec.stdin.end();
      })();
      let at = 0;
      for await (const { data } of exec.output) {
        const offset = at % block.length;
        const expected = Buffer.concat([block.subarray(offset), block]).subarray(0, data.length);
        if (!data.equals(expected)) expect.unreachable(`bytes differ near ${at}`);
        at += data.length;
      }
      await writing;
      expect(at).toBe(16 * block.length);
      expect((await exec.exit).exit_code).toBe(0);
    });

    test('drops stdin after the program has closed it', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(shell('exec <&-; sleep 0.3; echo done', { stdin: true }));
      const writing = exec.stdin.write(Buffer.alloc(4 * 1024 * 1024));
      expect((await outcome(exec)).stdout).toBe('done\n');
      await writing;
    });

    test('sets the size of the terminal, also after a resize', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(
        shell('stty size; read _; stty size', { pty: { rows: 10, cols: 33 }, stdin: true }),
      );
      let seen = '';
      const reading = (async () => {
        for await (const { channel, data } of exec.output) {
          expect(channel).toBe('stdout');
          seen += data;
        }
      })();
      await until('the first size', () => seen.includes('10 33'));
      await exec.resize(44, 120);
      await exec.stdin.write(Buffer.from('\n'));
      await reading;
      expect(seen).toContain('44 120');
      expect((await exec.exit).exit_code).toBe(0);
    });

    test('ends the input of a terminal', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(specOf(['cat'], { pty: { rows: 24, cols: 80 }, stdin: true }));
      await exec.stdin.write(Buffer.from('hi\n'));
      exec.stdin.end();
      expect((await outcome(exec)).exit_code).toBe(0);
    });

    test('kills a process group that ignores TERM', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(shell('trap "" TERM; sleep 1000 & echo up; wait; sleep 1000'));
      await exec.started;
      const output = exec.output[Symbol.asyncIterator]();
      await output.next();
      exec.kill();
      expect(await exec.exit).toMatchObject({ exit_code: 137 });
      expect((await run(io, shell('ps -eo args | grep -c "^sleep 100[0]"'))).stdout.trim()).toBe('0');
    });

    test('ends a command at its deadline inside the agent', async () => {
      const io = await (await startAgent()).open();
      const started = performance.now();
      const result = await run(io, shell('echo early; sleep 1000', { timeoutMs: 300 }));
      expect(result).toMatchObject({ stdout: 'early\n', timed_out: true });
      expect(performance.now() - started).toBeLessThan(4000);
    });

    test('rejects within a second of an abort and kills the command', async () => {
      const io = await (await startAgent()).open();
      const abort = new AbortController();
      const exec = io.exec(specOf(['sleep', '2000']), abort.signal);
      await exec.started;
      const reason = new Error('enough');
      const started = performance.now();
      abort.abort(reason);
      await expect(exec.exit).rejects.toBe(reason);
      expect(performance.now() - started).toBeLessThan(1000);
      await until(
        'the end of the command',
        async () => (await run(io, shell('pgrep -fc "^sleep 200[0]"'))).stdout.trim() === '0',
      );
    });

    test('signals by name, and lists the execs', async () => {
      const io = await (await startAgent()).open();
      const spec = shell('trap "echo got; exit 5" USR1; echo up; while :; do :; done');
      const exec = io.exec(spec);
      const output = exec.output[Symbol.asyncIterator]();
      await output.next();
      const [record] = (await io.execs.list()).filter((each) => each.exec_id === spec.exec_id);
      expect(record).toMatchObject({ label: spec.label, state: 'running', detached: false });
      await io.execs.signal(spec.exec_id, 'SIGUSR1');
      expect((await output.next()).value?.data.toString()).toBe('got\n');
      expect((await exec.exit).exit_code).toBe(5);
      await expect(io.execs.signal('ex-none', 'SIGTERM')).rejects.toMatchObject({ code: 'not_found' });
    });

    test('keeps a detached command running for the next session to follow', async () => {
      const agent = await startAgent();
      const first = await agent.open();
      const spec = shell('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 3', {
        detach: true,
      });
      const exec = first.exec(spec);
      expect((await exec.exit).exit_code).toBe(-1);
      first.close();
      await first.closed;
      const second = await agent.open();
      const attached = await second.execs.attach(spec.exec_id, true);
      const output = attached.output[Symbol.asyncIterator]();
      expect((await output.next()).value?.data.toString()).toBe('one\n');
      await second.files.write(`${agent.folder}/go`, Buffer.alloc(0), {});
      expect((await output.next()).value?.data.toString()).toBe('two\n');
      expect([(await attached.exit).exit_code, attached.truncated]).toEqual([3, false]);
      const again = await outcome(await second.execs.attach(spec.exec_id, false));
      expect([again.stdout, again.exit_code]).toEqual(['one\ntwo\n', 3]);
      const [record] = await second.execs.list();
      expect(record).toMatchObject({ exec_id: spec.exec_id, state: 'exited', detached: true, exit_code: 3 });
      await expect(second.execs.attach('ex-none', false)).rejects.toMatchObject({ code: 'not_found' });
    });

    test('ends an attach alone on abort, and its command on kill', async () => {
      const io = await (await startAgent()).open();
      const spec = specOf(['sleep', '3000'], { detach: true });
      await io.exec(spec).exit;
      const abort = new AbortController();
      const viewed = await io.execs.attach(spec.exec_id, true, abort.signal);
      abort.abort(new Error('enough'));
      await expect(viewed.exit).rejects.toThrow('enough');
      const attached = await io.execs.attach(spec.exec_id, true);
      attached.kill();
      expect(await attached.exit).toMatchObject({ signal: 'SIGTERM', exit_code: 143 });
    });

    test('cuts a long tail at its start', async () => {
      const io = await (await startAgent()).open();
      const spec = shell('head -c 3000000 /dev/zero | tr "\\0" x; echo end', { detach: true });
      await io.exec(spec).exit;
      await until(
        'the end',
        async () => (await io.execs.list()).find((each) => each.exec_id === spec.exec_id)?.state === 'exited',
      );
      const attached = await io.execs.attach(spec.exec_id, false);
      const { stdout } = await outcome(attached);
      expect(attached.truncated).toBe(true);
      expect(stdout.endsWith('xend\n')).toBe(true);
      expect(stdout.length).toBeLessThanOrEqual(1024 * 1024);
    });

    test('runs 50 commands at once', async () => {
      const io = await (await startAgent()).open();
      const all = Array.from({ length: 50 }, (_, index) =>
        run(io, shell(`seq 1 2000 | tail -1; exit ${index}`)),
      );
      for (const [index, result] of (await Promise.all(all)).entries()) {
        expect(result).toMatchObject({ stdout: '2000\n', exit_code: index });
      }
    });

    test('stops the process while the reader stops, and takes no memory on either side', async () => {
      const agent = await startAgent();
      const io = await agent.open();
      const exec = io.exec(shell('head -c 1000000000 /dev/zero'));
      const output = exec.output[Symbol.asyncIterator]();
      let length = (await output.next()).value?.data.length ?? 0;
      const [ours, theirs] = [process.memoryUsage().arrayBuffers, agent.memory()];
      // Other work goes on; by the time it is done, the flood would have been here.
      for (let turn = 0; turn < 20; turn += 1) await run(io, shell('true'));
      expect(process.memoryUsage().arrayBuffers - ours).toBeLessThan(8 * 1024 * 1024);
      if (!isSanitized) expect(agent.memory() - theirs).toBeLessThan(4 * 1024 * 1024);
      for (let next = await output.next(); !next.done; next = await output.next())
        length += next.value.data.length;
      expect(length).toBe(1_000_000_000);
      expect((await exec.exit).exit_code).toBe(0);
    });

    test('ends while a background process holds the output open', async () => {
      const io = await (await startAgent()).open();
      const started = performance.now();
      expect((await run(io, shell('sleep 5 & echo here'))).stdout).toBe('here\n');
      expect(performance.now() - started).toBeLessThan(2500);
    });

    test('lets the process end after the reader leaves', async () => {
      const io = await (await startAgent()).open();
      const exec = io.exec(shell('head -c 5000000 /dev/zero; exit 9'));
      for await (const _ of exec.output) break;
      expect((await exec.exit).exit_code).toBe(9);
      expect(await lengthOf(io.exec(shell('head -c 5000000 /dev/zero')).output)).toBe(5_000_000);
    });
  });
