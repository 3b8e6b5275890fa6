// Runs a command that reads this process's standard input while it runs.

import type { Client } from '../client/client.ts';
import { displayDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import { deadlineFailure, timeoutNotice } from '../domain/exec-request.ts';
import type { Timer } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import type { ExecResult } from '../schema/exec.ts';
import { print } from './print.ts';
import type { Sink } from './sink.ts';

/** A running command of the client. */
export type LiveCommand = Awaited<ReturnType<Client['openExec']>>;
export type LiveRequest = Parameters<Client['openExec']>[1];

type Outcome = Partial<ExecResult> & { exit_code: number };
type Event = ReturnType<LiveCommand['events']> extends AsyncGenerator<infer One> ? One : never;
type Exit = Extract<Event, { type: 'exit' }>;

/** How long a command may wait for the end of its input before a person learns why. */
const QUIET_MS = 2000;

/**
 * Resolves with what `Client.exec` resolves with: status, and the outputs that `sink` keeps. A deadline rejects as there
 * where outputs are kept; otherwise its status is 124. Reads standard input only once the command runs, so that a refused
 * and retried call loses none of it. Aborting `signal` kills the command and rejects with the signal's reason.
 */
export async function execWithInput(
  client: Client,
  id: string,
  request: LiveRequest,
  { sink, signal }: { sink: Sink; signal: AbortSignal },
): Promise<Outcome> {
  const socket = await client.openExec(id, request, { signal });
  try {
    const { exec_id, exit } = await relay(socket, sink);
    return outcomeOf(exit, { exec_id, kept: sink.kept(), sandbox_id: id, request_id: socket.requestId });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    socket.close();
  }
}

async function relay(socket: LiveCommand, sink: Sink): Promise<{ exec_id: string; exit: Exit }> {
  let exec_id = '';
  let stopFeeding: () => void = () => undefined;
  try {
    for await (const event of socket.events()) {
      if (event.type === 'started') {
        exec_id = event.exec_id;
        stopFeeding = feed(socket, event.starts_at_stdin_end === true);
      } else if (event.type === 'exit') return { exec_id, exit: event };
      else await sink.add(event.type, event.data);
    }
    throw new ServiceError('unavailable', 'The server ended the stream without an exit status.');
  } finally {
    stopFeeding();
  }
}

interface Facts {
  exec_id: string;
  kept: Partial<ExecResult>;
  sandbox_id: string;
  request_id: string | undefined;
}

/** Members in the order of an ExecResult. */
function outcomeOf(exit: Exit, { exec_id, kept, sandbox_id, request_id }: Facts): Outcome {
  const { stdout, stderr, stdout_truncated, stderr_truncated } = kept;
  const { exit_code, signal, duration_ms } = exit;
  if (stdout === undefined || stderr === undefined) return { exec_id, exit_code };
  if (exit.timed_out) {
    const { code, message, remedy, details } = deadlineFailure({
      exec_id,
      stdout,
      stderr: withoutEnd(stderr, timeoutNotice(sandbox_id)),
    });
    // As the server sends it.
    throw new ServiceError(code, `${message} ${remedy}`, { details: { ...details, request_id } });
  }
  return {
    exec_id,
    exit_code,
    ...(signal !== undefined && { signal }),
    stdout,
    stderr,
    duration: displayDuration(duration_ms),
    duration_ms,
    ...(stdout_truncated !== undefined && { stdout_truncated }),
    ...(stderr_truncated !== undefined && { stderr_truncated }),
  };
}

const withoutEnd = (text: string, end: string) => (text.endsWith(end) ? text.slice(0, -end.length) : text);

/**
 * Passes standard input on until the returned function is called. Unread input stays for the next reader in a shell script,
 * and an endless input does not keep this process alive. Reports input that is still open after two seconds where the
 * command `startsAtEnd` of it.
 */
function feed(socket: LiveCommand, startsAtEnd: boolean): () => void {
  const input = process.stdin;
  const notice: Timer | undefined = startsAtEnd ? realClock().after(QUIET_MS, reportWaiting) : undefined;
  let isOver = false;
  const pass = (data: Buffer) => {
    input.pause();
    void socket.write(data).then(() => {
      if (!isOver) input.resume();
    });
  };
  const end = () => {
    notice?.cancel();
    socket.end();
  };
  input.on('data', pass).once('end', end).once('error', end);
  return () => {
    isOver = true;
    notice?.cancel();
    input.off('data', pass).off('end', end).pause();
  };
}

function reportWaiting(): void {
  const text =
    'The provider of this sandbox starts the command when standard input ends. If the command needs no input, use --no-stdin.';
  print(text, process.stderr);
}
