// A command as NDJSON lines (docs/design/api.md#streams): `start`, output as it comes, `keepalive` in silence, then
// `exit` or `error`.
import { asServiceError } from '../../domain/errors.ts';
import { TIMED_OUT, timeoutNotice } from '../../domain/exec-request.ts';
import { encodeOutput, type OutputEncoding, outputDecoder } from '../../domain/output.ts';
import type { Clock } from '../../domain/ports.ts';
import { Utf8Pieces } from '../../domain/utf8.ts';
import type { ExecLine } from '../../schema/exec.ts';
import type { StreamedLine } from '../api/execs.ts';
import { silent } from '../async/silence.ts';
import type { StartedExec } from './exec-start.ts';
import { OutputQueue } from './output-queue.ts';

/** Ends with `exit` or `error`, or without when the caller disconnected. Leaving early kills an attached command. */
export async function* execLines(
  started: StartedExec,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<StreamedLine> {
  const { exec, attached } = started;
  const queue = new OutputQueue(exec.output);
  try {
    const truncated = attached?.truncated ? { truncated: true } : {};
    yield { stream: 'start', data: '', exec_id: exec.exec_id, ...truncated };
    yield* outputLines(started, queue, clock);
    yield* keepalives(exec.exit, clock);
    yield* lastLines(started, signal);
  } finally {
    queue.stop();
    if (!attached) exec.kill();
  }
}

async function* outputLines(
  { encoding }: StartedExec,
  queue: OutputQueue,
  clock: Clock,
): AsyncGenerator<StreamedLine> {
  const texts = { stdout: textOf(encoding), stderr: textOf(encoding) };
  while (!queue.over) {
    const piece = queue.take();
    const data = piece && texts[piece.channel].write(piece.data);
    if (piece && data && data.length > 0) yield { stream: piece.channel, data } as StreamedLine;
    if (!piece) yield* keepalives(queue.ready(), clock);
  }
  for (const stream of ['stdout', 'stderr'] as const) {
    const data = texts[stream].end();
    if (data.length > 0) yield { stream, data } as StreamedLine;
  }
}

const textOf = (encoding: OutputEncoding) =>
  encoding === 'utf8' ? new Utf8Pieces() : outputDecoder(encoding);

/** Yields a line for every 15 s without `event`. */
async function* keepalives(event: Promise<unknown>, clock: Clock): AsyncGenerator<ExecLine> {
  while (await silent(event, clock)) yield { stream: 'keepalive', data: '' };
}

async function* lastLines(
  { sandbox_id, exec, encoding }: StartedExec,
  caller: AbortSignal,
): AsyncGenerator<ExecLine> {
  try {
    const { exit_code, signal, timed_out, duration_ms } = await exec.exit;
    // A view that does not follow ends while the command still runs.
    if (exit_code < 0) return;
    const facts = { duration_ms, ...(signal !== undefined && { signal }) };
    if (timed_out) yield { stream: 'stderr', data: encodeOutput(timeoutNotice(sandbox_id), encoding) };
    if (timed_out) yield { stream: 'exit', data: '', exit_code: TIMED_OUT, timed_out: true, ...facts };
    else yield { stream: 'exit', data: '', exit_code, ...facts };
  } catch (error) {
    if (caller.aborted) return;
    const { code, message } = asServiceError(error);
    yield { stream: 'error', data: '', code, message };
  }
}
