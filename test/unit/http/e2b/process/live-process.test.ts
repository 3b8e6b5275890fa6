// A process and its followers: what each of them gets, and how the end is told.
import { expect, it } from 'vitest';
import type { ExecExit, OutputChunk } from '../../../../../src/agent/io.ts';
import type { LiveExec } from '../../../../../src/control/api/execs.ts';
import { ServiceError } from '../../../../../src/domain/errors.ts';
import { realClock } from '../../../../../src/host/clock.ts';
import { LiveProcess } from '../../../../../src/http/e2b/process/live-process.ts';

const clock = realClock();

function execOf(chunks: OutputChunk[], exit: Promise<ExecExit>): LiveExec {
  exit.catch(() => undefined);
  return {
    exec_id: 'ex-1',
    stdin: { write: async () => undefined, end: () => undefined },
    output: (async function* () {
      await exit.catch(() => undefined);
      yield* chunks;
    })(),
    exit,
    resize: async () => undefined,
    signal: async () => undefined,
  };
}

const ended = (more: Partial<ExecExit>): ExecExit => ({
  exit_code: 0,
  timed_out: false,
  duration_ms: 1,
  ...more,
});

/** What a follower gets, and how its stream ends. */
async function followed(exec: LiveExec) {
  const config = { cmd: 'x', args: [], envs: {} };
  const facts = { pid: 7, config, isPty: false, hasInput: true };
  const process = new LiveProcess(exec, facts, { clock, deadlineMs: 0 });
  const got: unknown[] = [];
  let isCut = false;
  const stream = {
    write: async (message: object) => void got.push((message as { event: unknown }).event),
    isOpen: true,
    cut: () => {
      isCut = true;
    },
  };
  const failure = await process.follow(stream, new AbortController().signal).then(
    () => undefined,
    ({ code }: { code: string }) => code,
  );
  return { got, failure, isCut };
}

const START = { start: { pid: 7 } };

it('tells output before the end', async () => {
  const chunks: OutputChunk[] = [
    { channel: 'stdout', data: Buffer.from('out') },
    { channel: 'stderr', data: Buffer.from('err') },
  ];
  const { got } = await followed(execOf(chunks, Promise.resolve(ended({ exit_code: 3 }))));
  expect(got).toEqual([
    START,
    { data: { stdout: Buffer.from('out').toString('base64') } },
    { data: { stderr: Buffer.from('err').toString('base64') } },
    { end: { exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' } },
  ]);
});

it('tells the signal that ended it', async () => {
  const { got } = await followed(execOf([], Promise.resolve(ended({ exit_code: 137, signal: 'SIGKILL' }))));
  const end = { exitCode: -1, exited: false, status: 'signal: killed', error: 'signal: killed' };
  expect(got).toEqual([START, { end }]);
});

it('tells a deadline as one, also when the agent was the first to keep it', async () => {
  const exit = Promise.resolve(ended({ exit_code: 124, signal: 'SIGTERM', timed_out: true }));
  expect(await followed(execOf([], exit))).toEqual({
    got: [START],
    failure: 'deadline_exceeded',
    isCut: false,
  });
});

it('cuts the connection when the sandbox was lost', async () => {
  const exit = Promise.reject(new ServiceError('unavailable', 'The sandbox has ended.'));
  expect(await followed(execOf([], exit))).toEqual({ got: [START], failure: undefined, isCut: true });
});
