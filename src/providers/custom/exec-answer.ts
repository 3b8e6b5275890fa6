// The backend's reply to an exec: a stream of NDJSON, or one JSON result at the end.
import { setImmediate } from 'node:timers/promises';
import type { ExecExit, OutputChunk } from '../../agent/io.ts';
import { type JsonLineFormat, jsonLines } from '../../domain/json-lines.ts';
import { invalidReply, orInvalidJson } from '../outgoing/faults.ts';
import type { Reply } from '../outgoing/reply.ts';
import { CUSTOM_BACKEND, objectIn } from './backend.ts';

const MAX_RESULT = 64 * 1024 * 1024;
/** Limits of a result without its outputs. */
const RESULT = { bytes: 64 * 1024, depth: 8, tokens: 256 };
export const BACKEND_LINES: JsonLineFormat<Record<string, unknown>> = {
  bytes: 4 * 1024 * 1024,
  structure: { depth: 8, tokens: 256 },
  tooLong: () => invalidReply(CUSTOM_BACKEND, 'sent a line that is too long'),
  read: objectIn,
  invalid: (error) => orInvalidJson(CUSTOM_BACKEND, error),
};
const CHANNELS = ['stdout', 'stderr'] as const;

type ExecPart =
  | { output: OutputChunk }
  | { exit: Omit<ExecExit, 'duration_ms'> }
  /** The backend could not continue the exec. */
  | { failed: true };

/** Throws `provider_error` for any other reply. Ends after `exit` or `failed`; without either if the reply was cut off. */
export async function* execParts(reply: Reply): AsyncGenerator<ExecPart> {
  const isStream = /^application\/(?:x-)?ndjson\b/i.test(reply.headers['content-type'] ?? '');
  const parts = isStream ? lineParts(reply) : resultParts(await reply.object(CHANNELS, RESULT, MAX_RESULT));
  for await (const part of parts) {
    yield part;
    if ('exit' in part || 'failed' in part) return;
  }
}

async function* lineParts(reply: Reply): AsyncGenerator<ExecPart> {
  for await (const line of jsonLines(reply.body(), BACKEND_LINES)) {
    if (line.stream === 'stdout' || line.stream === 'stderr')
      yield { output: { channel: line.stream, data: bytesIn(line.data, line.encoding) } };
    else if (line.stream === 'exit') yield { exit: exitIn(line) };
    else if (line.stream === 'error') yield { failed: true };
    // Ignores `start`, `keepalive` and kinds of later versions.
  }
}

async function* resultParts({ value, text }: Awaited<ReturnType<Reply['object']>>): AsyncGenerator<ExecPart> {
  const result = objectIn(value);
  for (const channel of CHANNELS) {
    if (typeof (result[channel] ?? '') !== 'string')
      throw invalidReply(CUSTOM_BACKEND, 'sent output that is not text');
    for (const data of result.encoding === 'base64' ? decoded(text(channel)) : text(channel)) {
      yield { output: { channel, data } };
      await setImmediate();
    }
  }
  yield { exit: exitIn(result) };
}

/** Decodes blocks of base64 that may contain line breaks. */
function* decoded(blocks: readonly Buffer[]): Generator<Buffer> {
  let rest = '';
  for (const block of blocks) {
    const text = rest + block.toString('latin1').replaceAll(/[^A-Za-z0-9+/_-]/g, '');
    const end = text.length - (text.length % 4);
    rest = text.slice(end);
    if (end > 0) yield Buffer.from(text.slice(0, end), 'base64');
  }
  if (rest !== '') yield Buffer.from(rest, 'base64');
}

function bytesIn(data: unknown, encoding: unknown): Buffer {
  if (typeof data !== 'string') throw invalidReply(CUSTOM_BACKEND, 'sent output that is not text');
  return Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8');
}

function exitIn({ exit_code, signal, timed_out }: Record<string, unknown>): Omit<ExecExit, 'duration_ms'> {
  if (!Number.isInteger(exit_code) || (exit_code as number) < 0 || (exit_code as number) > 255)
    throw invalidReply(CUSTOM_BACKEND, 'sent an invalid exit code');
  return {
    exit_code: exit_code as number,
    timed_out: timed_out === true,
    ...(typeof signal === 'string' && /^SIG[A-Z0-9+]{1,16}$/.test(signal) && { signal }),
  };
}
