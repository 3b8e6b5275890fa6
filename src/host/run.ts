// One program of this machine, run to its end. It gets exactly the environment it is handed, so that secrets of this
// process reach none, and a process group of its own: a grandchild that keeps the pipes open cannot outlast the deadline.
import type { Readable } from 'node:stream';
import { execa, type ResultPromise } from 'execa';
import { ServiceError } from '../domain/errors.ts';
import { abortable } from '../domain/timeout.ts';
import type { RunOptions, RunResult } from './host.ts';

const DEFAULT_MAX_BYTES = 1024 * 1024;

const EXECA_OPTIONS = { reject: false, buffer: false, extendEnv: false, detached: true } as const;

/**
 * The seam's `run`. Throws `timeout` on the deadline, `unavailable` when the program cannot start, the signal's reason on
 * abort. It kills the process group in each case.
 */
export async function run(file: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const child = execa(file, args, {
    ...EXECA_OPTIONS,
    env: options.env ?? {},
    ...(options.input === undefined ? { stdin: 'ignore' as const } : { input: options.input }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }) as ResultPromise;
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const outputs = [collect(child.stdout, maxBytes), collect(child.stderr, maxBytes)];
  const result = await before(child, options);
  const [stdout = '', stderr = ''] = outputs.map((output) => output());
  if (result.exitCode === undefined && result.signal === undefined)
    throw new ServiceError('unavailable', 'Could not start a program on this host.', { cause: result });
  return { code: result.exitCode ?? null, stdout, stderr };
}

/** Keeps the first `maxBytes` and continues to read: a full pipe would stop the program. */
function collect(stream: Readable | null, maxBytes: number): () => string {
  const chunks: Buffer[] = [];
  let room = maxBytes;
  stream?.on('data', (chunk: Buffer) => {
    if (room > 0) chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
  });
  return () => Buffer.concat(chunks).toString('utf8');
}

async function before(child: ResultPromise, { timeoutMs, signal }: RunOptions) {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await abortable(child, signal ? AbortSignal.any([timeout, signal]) : timeout);
  } catch (error) {
    killGroup(child);
    throw error instanceof DOMException && error.name === 'TimeoutError'
      ? new ServiceError('timeout', 'A program on this host did not end in time.')
      : error;
  }
}

function killGroup(child: ResultPromise): void {
  child.stdout?.destroy();
  child.stderr?.destroy();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Ended in between.
  }
}
