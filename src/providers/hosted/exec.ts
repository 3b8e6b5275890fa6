// A command in a hosted sandbox, with or without a terminal. The library runs a shell line, so every word is quoted, and
// decodes output as text: bytes that are not UTF-8 are replaced. This server keeps the deadlines; the backend has none.
import type { CommandHandle, Sandbox } from 'e2b';
import { noStdin } from '../../agent/exec-stdin.ts';
import type { Exec, ExecSpec, OutputChunk } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { BackendSession } from '../backends/backend-session.ts';
import { ExecLifecycle } from '../backends/exec-lifecycle.ts';
import { commandLine, terminalEnv, WORKSPACE } from './command-line.ts';
import { exitOf } from './exit.ts';
import type { Library } from './library.ts';
import { HostedOutput } from './output.ts';

const MOST_OUTPUT = 64 * 1024 * 1024;
const STDIN_PIECE = 512 * 1024;
const END_OF_TRANSMISSION = Buffer.from([4]);

export interface ExecContext {
  library: Library;
  clock: Clock;
  session: Pick<BackendSession, 'end' | 'keep'>;
  sandbox: Sandbox;
  /** Process ids of the running commands, by exec id. */
  pids: Map<string, number>;
}

interface RunningExec {
  spec: ExecSpec;
  course: ExecLifecycle;
  output: HostedOutput;
}

/** Starts an attached command. Never throws: a failed start rejects `started` and `exit`. */
export function startExec(place: ExecContext, spec: ExecSpec, signal?: AbortSignal): Exec {
  const { clock, session, library } = place;
  const course = new ExecLifecycle(spec, { clock, ends: [signal, session.end], backstopMs: 0 });
  const running = { spec, course, output: new HostedOutput(MOST_OUTPUT) };
  const handle = spec.pty ? openTerminal(place, running, spec.pty) : start(place, running);
  follow(place, handle, running);
  return session.keep(spec, {
    exec_id: spec.exec_id,
    started: course.started,
    stdin: spec.pty || spec.stdin ? stdinOf(library, inputOf(place, spec, handle), course) : noStdin,
    output: left(running.output, course),
    exit: course.exit,
    kill: () => course.kill(),
    resize: (rows, cols) => resize(place, spec, handle, { rows, cols }),
  });
}

async function start({ sandbox }: ExecContext, running: RunningExec): Promise<CommandHandle> {
  const { spec } = running;
  running.course.signal.throwIfAborted();
  return sandbox.commands.run(commandLine(spec.argv), {
    background: true,
    timeoutMs: 0,
    envs: spec.env,
    stdin: spec.stdin === true,
    cwd: spec.workdir ?? WORKSPACE,
    onStdout: taking(running, 'stdout'),
    onStderr: taking(running, 'stderr'),
  });
}

async function openTerminal(
  { sandbox }: ExecContext,
  running: RunningExec,
  size: { rows: number; cols: number },
): Promise<CommandHandle> {
  const { spec } = running;
  running.course.signal.throwIfAborted();
  return sandbox.pty.create({
    ...size,
    timeoutMs: 0,
    envs: terminalEnv(spec),
    cwd: spec.workdir ?? WORKSPACE,
    onData: taking(running, 'stdout'),
  });
}

function taking({ course, output }: RunningExec, channel: OutputChunk['channel']) {
  return async (text: string | Uint8Array) => {
    if (!(await output.add(channel, text))) course.fail(tooMuch());
  };
}

async function resize(
  { library, sandbox }: ExecContext,
  { pty }: ExecSpec,
  handle: Promise<CommandHandle>,
  size: { rows: number; cols: number },
): Promise<void> {
  if (!pty) throw new ServiceError('bad_request', 'This command has no terminal.');
  await library.run(async () => sandbox.pty.resize((await handle).pid, size));
}

/** Follows the command to its end; the end of `course` kills the command. */
function follow(
  { library, pids }: ExecContext,
  handle: Promise<CommandHandle>,
  { spec, course, output }: RunningExec,
): void {
  handle.then(
    async (command) => {
      pids.set(spec.exec_id, command.pid);
      course.markStarted();
      course.signal.addEventListener('abort', () => void stop(command));
      if (course.signal.aborted) await stop(command);
      const result = await command.wait().catch((error: unknown) => error);
      pids.delete(spec.exec_id);
      const exit = exitOf(result);
      if (exit) course.finish(exit);
      else course.fail(library.translated(result));
    },
    (error: unknown) => course.fail(library.translated(error)),
  );
  course.signal.addEventListener('abort', () => output.end());
  if (course.signal.aborted) output.end();
}

async function stop(command: CommandHandle): Promise<void> {
  if (command.exitCode !== undefined) return;
  await command.kill().catch(() => undefined);
  await command.disconnect().catch(() => undefined);
}

async function* left(output: HostedOutput, course: ExecLifecycle): AsyncGenerator<OutputChunk> {
  try {
    yield* output.read();
  } finally {
    if (!course.signal.aborted) course.kill();
  }
}

interface Input {
  write(data: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** A terminal has no end of input: it is sent the end-of-transmission character, as a person would type it. */
function inputOf({ sandbox }: ExecContext, { pty }: ExecSpec, handle: Promise<CommandHandle>): Input {
  if (!pty)
    return {
      write: async (data) => (await handle).sendStdin(data),
      end: async () => {
        const command = await handle;
        if (!sandbox.commands.supportsStdinClose) throw noEndOfInput();
        await command.closeStdin();
      },
    };
  const send = async (data: Buffer) => sandbox.pty.sendInput((await handle).pid, data);
  return { write: send, end: () => send(END_OF_TRANSMISSION) };
}

/**
 * Sends input in order and in pieces. Drops what comes after the end of the command. A command whose input cannot be ended
 * would wait for it until its deadline: it fails instead.
 */
function stdinOf(library: Library, input: Input, course: ExecLifecycle): Exec['stdin'] {
  let last: Promise<unknown> = Promise.resolve();
  const next = (work: () => Promise<void>) => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  const unlessEnded = (error: unknown) => {
    const failure = library.translated(error);
    if (!(failure instanceof ServiceError) || failure.code !== 'not_found') throw failure;
  };
  return {
    write: async (data) => {
      for (let at = 0; at < data.length; at += STDIN_PIECE)
        await next(() => input.write(data.subarray(at, at + STDIN_PIECE))).catch(unlessEnded);
    },
    end: () =>
      void next(input.end)
        .catch(unlessEnded)
        .catch((error: unknown) => course.fail(error)),
  };
}

function noEndOfInput(): ServiceError {
  return new ServiceError(
    'not_implemented',
    'The template of this sandbox cannot end the input of a command.',
    {
      remedy: 'Build the template again, or run the command without standard input.',
    },
  );
}

function tooMuch(): ServiceError {
  return new ServiceError('resource_limit', `A command wrote more than ${MOST_OUTPUT} bytes.`, {
    remedy: 'Write to a file in the sandbox and read that file.',
  });
}
