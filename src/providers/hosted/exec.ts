// A command in a hosted sandbox. The library runs a line of a shell, so every word is quoted, and takes output as text: bytes
// that are no UTF-8 are replaced. Deadlines are ours: the backend keeps none of a single command.
import type { CommandHandle, Sandbox } from 'e2b';
import { noStdin } from '../../agent/exec-stdin.ts';
import type { Exec, ExecSpec, OutputChunk } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { quoteWord } from '../../domain/exec-request.ts';
import type { Clock } from '../../domain/ports.ts';
import { absent } from '../backends/absent.ts';
import type { BackendSession } from '../backends/backend-session.ts';
import { ExecCourse } from '../backends/exec-course.ts';
import type { Library } from './library.ts';
import { HostedOutput } from './output.ts';

const MOST_OUTPUT = 64 * 1024 * 1024;
const STDIN_PIECE = 512 * 1024;

export interface ExecPlace {
  library: Library;
  clock: Clock;
  session: BackendSession;
  sandbox: Sandbox;
}

interface Running {
  spec: ExecSpec;
  course: ExecCourse;
  output: HostedOutput;
}

/** Never throws: what cannot be started rejects `started` and `exit`. */
export function startExec(place: ExecPlace, spec: ExecSpec, signal?: AbortSignal): Exec {
  const { clock, session, library } = place;
  const course = new ExecCourse(spec, { clock, ends: [signal, session.end], backstopMs: 0 });
  const missing = spec.detach ? 'detached commands' : spec.pty && 'terminals';
  if (missing) course.fail(absent('hosted', missing));
  const output = new HostedOutput(MOST_OUTPUT);
  const handle = start(place, { spec, course, output });
  follow(library, handle, { spec, course, output });
  return session.keep(spec, {
    exec_id: spec.exec_id,
    started: course.started,
    stdin: spec.stdin ? stdinOf(library, handle) : noStdin,
    output: left(output, course),
    exit: course.exit,
    kill: () => course.kill(),
    resize: async () => {
      throw absent('hosted', 'terminals');
    },
  });
}

async function start({ sandbox }: ExecPlace, { spec, course, output }: Running): Promise<CommandHandle> {
  course.signal.throwIfAborted();
  const take = (channel: OutputChunk['channel']) => async (text: string) => {
    if (!(await output.add(channel, text))) course.fail(tooMuch());
  };
  return sandbox.commands.run(`exec ${spec.argv.map(quoteWord).join(' ')}`, {
    ...{ background: true, timeoutMs: 0, envs: spec.env, stdin: spec.stdin === true },
    cwd: spec.workdir ?? '/workspace',
    onStdout: take('stdout'),
    onStderr: take('stderr'),
  });
}

/** From the start to the end; whatever ends the course ends the command. */
function follow(library: Library, handle: Promise<CommandHandle>, { course, output }: Running): void {
  handle.then(
    async (command) => {
      course.begin();
      course.signal.addEventListener('abort', () => void stop(command));
      if (course.signal.aborted) await stop(command);
      try {
        const { exitCode } = await command.wait();
        course.finish({ exit_code: exitCode, timed_out: false });
      } catch (error) {
        const code = (error as { exitCode?: unknown }).exitCode;
        if (typeof code === 'number' && code >= 0 && code <= 255)
          course.finish({ exit_code: code, timed_out: false });
        else course.fail(library.translated(error));
      }
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

async function* left(output: HostedOutput, course: ExecCourse): AsyncGenerator<OutputChunk> {
  try {
    yield* output.read();
  } finally {
    if (!course.signal.aborted) course.kill();
  }
}

function stdinOf(library: Library, handle: Promise<CommandHandle>): Exec['stdin'] {
  let last: Promise<unknown> = handle.catch(() => undefined);
  const next = <T>(work: (command: CommandHandle) => Promise<T>) => {
    const done = last.then(async () => work(await handle));
    last = done.catch(() => undefined);
    return done;
  };
  return {
    write: async (data) => {
      for (let at = 0; at < data.length; at += STDIN_PIECE)
        await next((command) => command.sendStdin(data.subarray(at, at + STDIN_PIECE))).catch(
          (error: unknown) => {
            throw library.translated(error);
          },
        );
    },
    end: () => void next((command) => command.closeStdin()).catch(() => undefined),
  };
}

function tooMuch(): ServiceError {
  return new ServiceError('resource_limit', `A command wrote more than ${MOST_OUTPUT} bytes.`, {
    remedy: 'Write to a file in the sandbox, and read that.',
  });
}
