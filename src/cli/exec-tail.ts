// The work of `exec output`: passes on what is kept of a detached command, and its status when it has ended.

import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ExecLine } from '../schema/exec.ts';
import { interruptible } from './interruption.ts';
import type { ExecOutcome, OutputMode } from './run-once.ts';
import { keeping, passing, type Sink } from './sink.ts';

interface Target {
  id: string;
  exec_id: string;
  output: OutputMode;
}

type Last = Pick<ExecOutcome, 'exit_code' | 'state'>;
const RUNNING: Last = { state: 'running' };

/** Ctrl-C stops the reading and nothing else. */
export async function outputOf(
  client: Client,
  { id, exec_id, output }: Target,
  { follow }: { follow: boolean },
): Promise<ExecOutcome> {
  const sink = output === 'kept' ? keeping() : passing();
  const query = { follow, encoding: 'base64' as const };
  const last = await interruptible(
    (signal) => take(client.execs.output(id, exec_id, query, signal), sink),
    () => RUNNING,
  );
  return { sandbox_id: id, exec_id, ...sink.kept(), ...last };
}

async function take(lines: AsyncIterable<ExecLine>, sink: Sink): Promise<Last> {
  for await (const line of lines) {
    if (line.truncated) sink.truncated();
    if (line.stream === 'stdout' || line.stream === 'stderr')
      await sink.add(line.stream, Buffer.from(line.data, 'base64'));
    if (line.stream === 'error')
      throw new ServiceError('unavailable', line.message ?? 'The sandbox was lost.');
    if (line.stream === 'exit') return { exit_code: line.exit_code ?? 1 };
  }
  return RUNNING;
}
