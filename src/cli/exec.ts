// The work of `sandbox exec`, `sandbox run` and `exec output`. Interrupting an attached command ends it inside the sandbox;
// interrupting a reader of a detached command ends only the reading.
import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ExecLine, ExecRequest, ExecResult } from '../schema/exec.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';
import { INTERRUPTED, interruptible } from './interruption.ts';
import { execWithInput } from './live-exec.ts';
import { line, print } from './print.ts';
import { printRefused } from './refused-connections.ts';
import { keeping, passing, type Sink } from './sink.ts';

/** `passed` on as it comes, or `kept` for the one JSON document that --json prints. */
export type OutputMode = 'passed' | 'kept';

/** `exit_code` is missing while the command runs. */
export type ExecOutcome = Partial<ExecResult> & {
  sandbox_id: string;
  state?: 'running';
  /** How the sandbox differs from the request. */
  warnings?: string[];
};

type Ending = Pick<ExecOutcome, 'exit_code' | 'state'>;
const RUNNING: Ending = { state: 'running' };

/** Runs `request` in sandbox `id`. Ctrl-C closes the call, which kills the command. */
export async function execIn(
  client: Client,
  { id, output, input = false }: { id: string; output: OutputMode; input?: boolean },
  request: ExecRequest,
): Promise<ExecOutcome> {
  const work = async (signal: AbortSignal): Promise<Partial<ExecResult>> => {
    const { encoding: _, ...plain } = request;
    const sink = output === 'kept' ? keeping() : passing();
    if (input) return execWithInput(client, id, plain, { sink, signal });
    if (output === 'kept') return client.exec(id, { ...request, encoding: 'utf8' }, signal);
    const ending = await relayLines(client.execStream(id, request, signal), sink);
    if (ending.exit_code !== undefined) return ending;
    throw new ServiceError('unavailable', 'The server ended the stream without an exit status.');
  };
  return { sandbox_id: id, ...(await interruptible(work, () => ({ exit_code: INTERRUPTED }))) };
}

/**
 * Spawns, runs, destroys. The sandbox is destroyed however the command ends, unless `keep`. Where the command fails, connections
 * that its policy refused are named.
 */
export async function runOnce(
  client: Client,
  wanted: { spawn: SpawnRequest; exec: ExecRequest; keep: boolean; output: OutputMode; input: boolean },
): Promise<ExecOutcome> {
  const { id, egress, warnings = [] } = await client.spawn(wanted.spawn);
  const isKept = wanted.output === 'kept' && warnings.length > 0;
  if (!isKept) for (const warning of warnings) print(line`warning: ${warning}`, process.stderr);
  try {
    const outcome = await execIn(client, { ...wanted, id }, wanted.exec);
    if (egress && outcome.exit_code !== 0 && wanted.output === 'passed') await printRefused(client, id);
    return isKept ? { ...outcome, warnings } : outcome;
  } finally {
    if (wanted.keep) print(line`${id}`, process.stderr);
    else await client.destroy(id);
  }
}

/** Leaves the command running and prints its id alone, so that a script can keep it. */
export async function detachIn(
  client: Client,
  target: { id: string; output: OutputMode },
  { encoding: _, ...request }: ExecRequest,
): Promise<ExecOutcome> {
  const exec_id = await client.execs.detach(target.id, request);
  if (target.output === 'passed') print(line`${exec_id}`);
  return { sandbox_id: target.id, exec_id, state: 'running' };
}

/** The kept output of a detached command, and its status once it has ended. */
export async function outputOf(
  client: Client,
  { id, exec_id, output }: { id: string; exec_id: string; output: OutputMode },
  { follow }: { follow: boolean },
): Promise<ExecOutcome> {
  const sink = output === 'kept' ? keeping() : passing();
  const query = { follow, encoding: 'base64' as const };
  const ending = await interruptible(
    (signal) => relayLines(client.execs.output(id, exec_id, query, signal), sink),
    () => RUNNING,
  );
  return { sandbox_id: id, exec_id, ...sink.kept(), ...ending };
}

/** The command's own status, 128+n for a signal, 124 for its deadline. Throws when the sandbox is lost. */
async function relayLines(lines: AsyncIterable<ExecLine>, sink: Sink): Promise<Ending> {
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
