// What a backend answers to an exec: NDJSON as it comes, or one JSON result at the end.
import type { ExecExit, OutputChunk } from '../../agent/io.ts';
import { strangeAnswer } from '../outgoing/faults.ts';
import type { Reply } from '../outgoing/reply.ts';
import { objectIn, WHAT } from './backend.ts';
import { jsonLines } from './json-lines.ts';

const MAX_RESULT = 64 * 1024 * 1024;

export type ExecPart =
  | { output: OutputChunk }
  | { exit: Omit<ExecExit, 'duration_ms'> }
  /** The backend could not go on with it. */
  | { failed: true };

/** Throws `provider_error` for what is neither. Ends after `exit` or `failed`, and without one when the answer was cut. */
export async function* execParts(reply: Reply): AsyncGenerator<ExecPart> {
  const isStream = /^application\/(?:x-)?ndjson\b/i.test(reply.headers['content-type'] ?? '');
  const parts = isStream ? lineParts(reply) : resultParts(objectIn(await reply.json(MAX_RESULT)));
  for await (const part of parts) {
    yield part;
    if ('exit' in part || 'failed' in part) return;
  }
}

async function* lineParts(reply: Reply): AsyncGenerator<ExecPart> {
  for await (const line of jsonLines(reply.body())) {
    if (line.stream === 'stdout' || line.stream === 'stderr')
      yield { output: { channel: line.stream, data: bytesIn(line.data, line.encoding) } };
    else if (line.stream === 'exit') yield { exit: exitIn(line) };
    else if (line.stream === 'error') yield { failed: true };
    // `start`, `keepalive` and what a later version may say.
  }
}

function* resultParts(result: Record<string, unknown>): Generator<ExecPart> {
  for (const channel of ['stdout', 'stderr'] as const) {
    const data = bytesIn(result[channel] ?? '', result.encoding);
    if (data.length > 0) yield { output: { channel, data } };
  }
  yield { exit: exitIn(result) };
}

function bytesIn(data: unknown, encoding: unknown): Buffer {
  if (typeof data !== 'string') throw strangeAnswer(WHAT, 'gave output that is no text');
  return Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8');
}

function exitIn({ exit_code, signal, timed_out }: Record<string, unknown>): Omit<ExecExit, 'duration_ms'> {
  if (!Number.isInteger(exit_code) || (exit_code as number) < 0 || (exit_code as number) > 255)
    throw strangeAnswer(WHAT, 'gave an exit code that is none');
  return {
    exit_code: exit_code as number,
    timed_out: timed_out === true,
    ...(typeof signal === 'string' && /^SIG[A-Z0-9+]{1,16}$/.test(signal) && { signal }),
  };
}
