// A command at the backend. It runs as long as its request is open; closing the connection kills it. Standard input is
// sent with the command, so a command with input starts when the input has ended.
import { isUtf8 } from 'node:buffer';
import { PassThrough } from 'node:stream';
import { noStdin } from '../../agent/exec-stdin.ts';
import type { Exec, ExecSpec, OutputChunk } from '../../agent/io.ts';
import { SandboxMissing, ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { type BackendSession, unsupported } from '../backends/backend-session.ts';
import { ExecLifecycle } from '../backends/exec-lifecycle.ts';
import { invalidReply } from '../outgoing/faults.ts';
import type { Reply } from '../outgoing/reply.ts';
import { type Backend, CUSTOM_BACKEND, type StatusMeanings } from './backend.ts';
import { execParts } from './exec-answer.ts';

const MAX_STDIN = 8 * 1024 * 1024;
const MAX_OUTPUT = Number.MAX_SAFE_INTEGER;

export interface ExecContext {
  backend: Backend;
  clock: Clock;
  session: BackendSession;
  runtime_id: string;
}

/** Never throws: a failed start rejects `started` and `exit`. */
export function startExec(place: ExecContext, spec: ExecSpec, signal?: AbortSignal): Exec {
  const { clock, session } = place;
  const course = new ExecLifecycle(spec, { clock, ends: [signal, session.end] });
  const missing = spec.detach ? 'detached commands' : spec.pty && 'terminals';
  if (missing) course.fail(unsupported('custom', missing));
  const input = spec.stdin ? bufferedStdin(MAX_STDIN) : undefined;
  // A client sends input to a started program only.
  if (input) course.markStarted();
  const reply = ask(place, spec, { course, stdin: input?.content });
  reply.then(
    () => course.markStarted(),
    (error: unknown) => endWith(course, error),
  );
  return session.keep(spec, {
    exec_id: spec.exec_id,
    started: course.started,
    stdin: input?.stdin ?? noStdin,
    ...(input && { startsAtInputEnd: true as const }),
    output: output(course, reply),
    exit: course.exit,
    kill: () => course.kill(),
    resize: async () => {
      throw unsupported('custom', 'terminals');
    },
  });
}

async function ask(
  { backend, runtime_id }: ExecContext,
  spec: ExecSpec,
  { course, stdin }: { course: ExecLifecycle; stdin: Promise<Buffer> | undefined },
): Promise<Reply> {
  const input = await stdin;
  course.signal.throwIfAborted();
  const reply = backend.stream({
    method: 'POST',
    path: '/exec',
    json: requestOf(runtime_id, spec, input),
    headers: { accept: 'application/x-ndjson' },
    signal: course.signal,
    // A program may be silent as long as it runs.
    idleMs: 0,
    maxBytes: MAX_OUTPUT,
    means: MEANS,
  });
  return reply.catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
    throw new SandboxMissing(`${CUSTOM_BACKEND} no longer has the sandbox.`, error);
  });
}

const MEANS: StatusMeanings = {
  400: [
    'bad_request',
    'The command cannot be started with these arguments.',
    { remedy: 'Check the workdir.' },
  ],
  408: ['timeout', 'The command did not end within its timeout.'],
};

function requestOf(sandbox_id: string, spec: ExecSpec, input: Buffer | undefined): object {
  const [command = '', ...args] = spec.argv;
  return {
    sandbox_id,
    mode: 'argv',
    command,
    args,
    env: spec.env,
    stream: true,
    ...(spec.workdir !== undefined && { workdir: spec.workdir }),
    ...(spec.timeoutMs && { timeout: spec.timeoutMs / 1000 }),
    ...(input && (isUtf8(input) ? { stdin: input.toString() } : { stdin_base64: input.toString('base64') })),
  };
}

/** An unread output blocks the backend. Failures are reported by `exit`. */
async function* output(course: ExecLifecycle, reply: Promise<Reply>): AsyncGenerator<OutputChunk> {
  try {
    for await (const part of execParts(await reply)) {
      if ('output' in part) yield part.output;
      else if ('exit' in part) return course.finish(part.exit);
      else throw invalidReply(CUSTOM_BACKEND, 'could not continue a command');
    }
    throw invalidReply(CUSTOM_BACKEND, 'ended an exec without an exit code');
  } catch (error) {
    endWith(course, error);
  } finally {
    // The reader may leave early.
    course.kill();
  }
}

/** A backend may also report an expired deadline with a status. */
function endWith(course: ExecLifecycle, error: unknown): void {
  if (error instanceof ServiceError && error.code === 'timeout')
    course.finish({ exit_code: 137, signal: 'SIGKILL', timed_out: true });
  else course.fail(error);
}

interface BufferedStdin {
  stdin: Exec['stdin'];
  /** The complete input, once it has ended. Rejects with `payload_too_large`. */
  content: Promise<Buffer>;
}

/** Input that is sent with the command: buffered until it ends, up to a limit. */
function bufferedStdin(maxBytes: number): BufferedStdin {
  const gathered = new PassThrough({ highWaterMark: maxBytes });
  let size = 0;
  return {
    content: gathered.toArray().then((parts) => Buffer.concat(parts)),
    stdin: {
      write: async (data) => {
        size += data.length;
        if (size <= maxBytes) return void gathered.write(data);
        const remedy = 'Write the input to a file and let the command read that file.';
        const message = `Standard input is over ${maxBytes} bytes here.`;
        const error = new ServiceError('payload_too_large', message, { remedy });
        gathered.destroy(error);
        throw error;
      },
      end: () => void gathered.end(),
    },
  };
}
