// The work of `exec output`: passes on what is kept of a detached command, and its status when it has ended.
import { once } from 'node:events';
import { ServiceError } from '../domain/errors.ts';
import { outputDecoder } from '../domain/output.ts';
import type { Client } from '../http/client.ts';
import type { ExecLine } from '../schema/exec.ts';
import type { ExecOutcome, OutputMode } from './run-once.ts';

interface Target {
  id: string;
  exec_id: string;
  output: OutputMode;
}

/** Ctrl-C stops the reading and nothing else. */
export async function outputOf(
  client: Client,
  { id, exec_id, output }: Target,
  { follow }: { follow: boolean },
): Promise<ExecOutcome> {
  const interruption = new AbortController();
  const stop = () => interruption.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const sink = output === 'kept' ? keeping() : passing();
  try {
    const query = { follow, encoding: 'base64' as const };
    const last = await take(client.execOutput(id, exec_id, query, interruption.signal), sink);
    return { sandbox_id: id, exec_id, ...sink.kept(), ...last };
  } catch (error) {
    if (interruption.signal.aborted) return { sandbox_id: id, exec_id, exit_code: 0 };
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

async function take(lines: AsyncIterable<ExecLine>, sink: Sink): Promise<{ exit_code: number }> {
  for await (const line of lines) {
    if (line.truncated) sink.truncated();
    if (line.stream === 'stdout' || line.stream === 'stderr')
      await sink.add(line.stream, Buffer.from(line.data, 'base64'));
    if (line.stream === 'error')
      throw new ServiceError('unavailable', line.message ?? 'The sandbox was lost.');
    if (line.stream === 'exit') return { exit_code: line.exit_code ?? 1 };
  }
  return { exit_code: 0 };
}

interface Sink {
  add(stream: 'stdout' | 'stderr', data: Buffer): Promise<void>;
  truncated(): void;
  kept(): Partial<ExecOutcome>;
}

function passing(): Sink {
  return {
    add: async (name, data) => {
      if (!process[name].write(data)) await once(process[name], 'drain');
    },
    truncated: () => process.stderr.write('(older output is no longer kept)\n'),
    kept: () => ({}),
  };
}

/** A tail is at most 1 MiB; what follows it is bounded by whoever asks for one JSON document of it. */
function keeping(): Sink {
  const texts = { stdout: '', stderr: '' };
  const decoders = { stdout: outputDecoder('utf8'), stderr: outputDecoder('utf8') };
  let isTruncated = false;
  return {
    add: async (name, data) => {
      texts[name] += decoders[name].write(data);
    },
    truncated: () => {
      isTruncated = true;
    },
    kept: () => ({ ...texts, stdout_truncated: isTruncated, stderr_truncated: isTruncated }),
  };
}
