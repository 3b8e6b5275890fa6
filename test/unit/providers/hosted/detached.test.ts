// Detached commands of a hosted sandbox, against a scripted library: what is kept of them where the backend fails.
import type { Sandbox } from 'e2b';
import { beforeEach, describe, expect, it } from 'vitest';
import { DetachedExecs } from '../../../../src/providers/hosted/detached.ts';
import { type FakeClock, fakeClock } from '../../../support/fakes/ports.ts';
import { type Heard, ScriptedHandle } from '../../../support/scripted/handle.ts';

class ScriptedCommands {
  readonly handles: ScriptedHandle[] = [];
  readonly killed: number[] = [];
  /** By number, what runs. */
  readonly running = new Map<number, string>();
  failing = new Set<'run' | 'list' | 'connect' | 'kill'>();

  async run(line: string, heard: Heard): Promise<ScriptedHandle> {
    await this.#asked('run');
    const pid = 100 + this.running.size;
    this.running.set(pid, line);
    return this.#handle(pid, heard);
  }

  async list(): Promise<object[]> {
    await this.#asked('list');
    return [...this.running].map(([pid, line]) => ({ pid, args: ['-l', '-c', line] }));
  }

  async connect(pid: number, heard: Heard): Promise<ScriptedHandle> {
    await this.#asked('connect');
    if (!this.running.has(pid)) throw new Error('none');
    return this.#handle(pid, heard);
  }

  async kill(pid: number): Promise<boolean> {
    this.killed.push(pid);
    await this.#asked('kill');
    return this.running.has(pid);
  }

  #handle(pid: number, heard: Heard): ScriptedHandle {
    const handle = new ScriptedHandle(pid, heard);
    this.handles.push(handle);
    return handle;
  }

  async #asked(what: 'run' | 'list' | 'connect' | 'kill'): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.failing.has(what)) throw new Error(`${what} fails`);
  }
}

describe('detached commands of a hosted sandbox', () => {
  let clock: FakeClock;
  let commands: ScriptedCommands;
  let execs: DetachedExecs;
  const library = {
    run: (work: (...none: never[]) => unknown) => work(),
    translated: (error: unknown) => error,
  };
  const server = () =>
    new DetachedExecs({
      ...{ clock, sandbox: { commands } as unknown as Sandbox },
      library: library as never,
    });
  const start = (exec_id: string, timeoutMs?: number) =>
    execs.start({ exec_id, argv: ['sleep', '60'], label: '', env: {}, ...(timeoutMs && { timeoutMs }) });
  /** Lets what is asked be answered. */
  const settle = async () => {
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = async (ms: number) => {
    await clock.advance(ms);
    await settle();
  };
  const last = () => commands.handles.at(-1) as ScriptedHandle;

  beforeEach(() => {
    clock = fakeClock();
    commands = new ScriptedCommands();
    execs = server();
  });

  it('start only up to the limit, for any number at once', async () => {
    commands.failing.add('run');
    await Promise.allSettled(Array.from({ length: 40 }, (_, at) => start(`f${at}`)));
    commands.failing.clear();
    const all = await Promise.allSettled(Array.from({ length: 40 }, (_, at) => start(`e${at}`)));
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(32);
    expect(all.at(-1)).toMatchObject({ reason: { code: 'resource_limit' } });
  });

  it('end at their deadline when their stream broke off', async () => {
    await start('one', 10_000);
    last().breaks();
    await settle();
    await pass(10_000);
    expect(commands.killed).toEqual([100]);
    const found = await execs.find('one');
    last().ends({ exitCode: -1, error: 'signal: killed' });
    expect(await found?.exit).toMatchObject({ exit_code: 137, timed_out: true });
    expect(clock.pending()).toBe(0);
  });

  it.each(['list', 'connect', 'kill'] as const)(
    'are ended again until it succeeds, while %s fails',
    async (what) => {
      await start('one', 10_000);
      last().breaks();
      await settle();
      commands.failing.add(what);
      await pass(10_000);
      await pass(1000);
      const before = commands.killed.length;
      expect(before).toBe(what === 'kill' ? 2 : 0);
      commands.failing.clear();
      await pass(2000);
      expect(commands.killed).toHaveLength(before + 1);
      commands.running.clear();
      await pass(4000);
      await pass(600_000);
      expect([commands.killed.length, clock.pending()]).toEqual([before + 2, 0]);
    },
  );

  it('end at their deadline under the next server, once it has started', async () => {
    await start('one', 10_000);
    execs.leave(new Error('stopped'));
    await pass(20_000);
    expect(commands.killed).toEqual([]);
    execs = server();
    await execs.resume(new AbortController().signal);
    await pass(0);
    expect(commands.killed).toEqual([100]);
  });

  it('switch to another handle before one holds much output', async () => {
    await start('one');
    const first = last();
    first.heard.onStdout('x'.repeat(1024 * 1024 + 1));
    await settle();
    expect([first.isLeft, commands.handles.length]).toEqual([false, 2]);
    last().heard.onStdout('y');
    await settle();
    expect([first.isLeft, last().isLeft]).toEqual([true, false]);
    last().ends({ exitCode: 3 });
    expect(await (await execs.find('one'))?.exit).toMatchObject({ exit_code: 3 });
  });

  it('deliver their end when no other handle opens before it, within a bound', async () => {
    commands.failing.add('connect');
    await start('one');
    last().heard.onStdout('x'.repeat(3 * 1024 * 1024));
    await settle();
    expect(last().isLeft).toBe(false);
    last().ends({ exitCode: 3 });
    expect(await (await execs.find('one'))?.exit).toMatchObject({ exit_code: 3 });
    await start('two');
    last().heard.onStdout('x'.repeat(9 * 1024 * 1024));
    await settle();
    expect(last().isLeft).toBe(true);
  });
});
