// Commands that outlive their session, through the real agent: their output, their input, and what is told of them.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Exec, ExecSpec, SandboxIo } from '../../src/agent/io.ts';
import { AGENTS } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

let count = 0;
const kept = (script: string, more: Partial<ExecSpec> = {}): ExecSpec => {
  count += 1;
  const env = { PATH: process.env.PATH ?? '' };
  return {
    exec_id: `kept-${count}`,
    argv: ['sh', '-c', script],
    label: script,
    env,
    keep: `note ${count}`,
    ...more,
  };
};

/** Until the test makes a file in the folder of the command. */
const waiting = 'until [ -e go ]; do sleep 0.05; done';

/** Reads until `wanted` was seen, and leaves the rest. */
async function read(exec: Exec, wanted: string): Promise<string> {
  let seen = '';
  const output = exec.output[Symbol.asyncIterator]();
  while (!seen.includes(wanted)) {
    const { value, done } = await output.next();
    if (done) break;
    seen += value.data.toString();
  }
  return seen;
}
const all = (exec: Exec) => read(exec, '\0 never');
const running = async (io: SandboxIo) =>
  (await io.execs.kept!()).filter(({ state }) => state === 'running').map(({ note }) => note);

for (const { way, startAgent } of AGENTS)
  describeWith(['cc'], `a kept exec ${way}`, () => {
    test('is like any other while its session lasts', async () => {
      const io = await (await startAgent()).open();
      const spec = kept('read -r line; echo "got $line"; exit 4', { stdin: true });
      const exec = io.exec(spec);
      await exec.started;
      const [told] = await io.execs.kept!();
      expect(told).toMatchObject({
        exec_id: spec.exec_id,
        note: spec.keep,
        hasInput: true,
        state: 'running',
      });
      expect(told?.pid).toBe(exec.pid?.());
      await exec.stdin.write(Buffer.from('x\n'));
      expect(await all(exec)).toBe('got x\n');
      expect((await exec.exit).exit_code).toBe(4);
    });

    test('lives on without its session, keeps its output, and takes input again', async () => {
      const agent = await startAgent();
      const first = await agent.open();
      const spec = kept(
        `echo one; ${waiting}; echo two; touch wrote; while read -r line; do echo "got $line"; done; echo end; exit 5`,
        {
          stdin: true,
        },
      );
      const exec = first.exec(spec);
      expect(await read(exec, 'one')).toBe('one\n');
      first.close();
      await exec.exit.catch(() => undefined);
      // The agent answers this one after it knows that the first has ended. What it sends to that one it does not keep.
      const second = await agent.open();
      writeFileSync(join(agent.folder, 'go'), '');
      await until('the command has written', () => existsSync(join(agent.folder, 'wrote')));
      const again = await second.execs.resume!(spec.exec_id);
      expect(again.truncated).toBe(false);
      expect(await read(again, 'two\n')).toBe('two\n');
      await again.stdin.write(Buffer.from('b\n'));
      again.stdin.end();
      expect(await all(again)).toBe('got b\nend\n');
      expect((await again.exit).exit_code).toBe(5);
    });

    test('is left by who lets it go, and does not show twice what was followed', async () => {
      const agent = await startAgent();
      const io = await agent.open();
      const spec = kept('echo one; read -r line; echo two; read -r line; echo three', { stdin: true });
      const leaving = new AbortController();
      const exec = io.exec(spec, leaving.signal);
      expect(await read(exec, 'one\n')).toBe('one\n');
      leaving.abort();
      await exec.exit.catch(() => undefined);
      const following = new AbortController();
      const second = await io.execs.resume!(spec.exec_id, following.signal);
      await second.stdin.write(Buffer.from('x\n'));
      expect(await read(second, 'two\n')).toBe('two\n');
      following.abort();
      const third = await io.execs.resume!(spec.exec_id);
      await third.stdin.write(Buffer.from('x\n'));
      expect(await all(third)).toBe('three\n');
      expect((await third.exit).exit_code).toBe(0);
      await expect(io.execs.resume!('no-such')).rejects.toMatchObject({ code: 'not_found' });
    });

    test('is followed by several, each of which sends input', async () => {
      const io = await (await startAgent()).open();
      const spec = kept('echo start; while read -r line; do echo "got $line"; done', { stdin: true });
      const own = io.exec(spec);
      expect(await read(own, 'start\n')).toBe('start\n');
      const view = await io.execs.resume!(spec.exec_id);
      await own.stdin.write(Buffer.from('a\n'));
      expect([await read(own, 'a\n'), await read(view, 'a\n')]).toEqual(['got a\n', 'got a\n']);
      await view.stdin.write(Buffer.from('b\n'));
      await own.stdin.write(Buffer.from('c\n'));
      view.stdin.end();
      expect(await all(own)).toBe('got b\ngot c\n');
      expect(await all(view)).toBe('got b\ngot c\n');
      expect([(await own.exit).exit_code, (await view.exit).exit_code]).toEqual([0, 0]);
    });

    test('says that output was dropped, and keeps the end of it', async () => {
      const agent = await startAgent();
      const first = await agent.open();
      const spec = kept(`echo ready; ${waiting}; head -c 3000000 /dev/zero; echo last; read -r line`, {
        stdin: true,
      });
      const exec = first.exec(spec);
      await read(exec, 'ready');
      first.close();
      writeFileSync(join(agent.folder, 'go'), '');
      const second = await agent.open();
      await until('the flood to be over', async () => {
        const probe = await second.execs.attach(spec.exec_id, false).catch(() => undefined);
        return probe && (await all(probe)).endsWith('last\n') ? true : undefined;
      });
      const again = await second.execs.resume!(spec.exec_id);
      expect(again.truncated).toBe(true);
      expect((await read(again, 'last\n')).length).toBeLessThan(1.1 * 1024 * 1024);
      again.stdin.end();
      await again.exit;
    });

    test('keeps a terminal and its deadline', async () => {
      const agent = await startAgent();
      const first = await agent.open();
      const terminal = kept('cat', { pty: { rows: 24, cols: 80 } });
      const late = kept('sleep 100', { timeoutMs: 300 });
      await Promise.all([first.exec(terminal).started, first.exec(late).started]);
      first.close();
      const io = await agent.open();
      const again = await io.execs.resume!(terminal.exec_id);
      await again.resize(30, 100);
      await again.stdin.write(Buffer.from('typed\n'));
      expect(await read(again, 'typed\r\ntyped')).toContain('typed\r\ntyped');
      const ended = await io.execs.resume!(late.exec_id);
      expect(await ended.exit).toMatchObject({ timed_out: true, exit_code: 124 });
      await io.execs.signal(terminal.exec_id, 'SIGKILL');
      expect((await again.exit).signal).toBe('SIGKILL');
      expect(await running(io)).toEqual([]);
    });
  });
