// The work of `sandbox exec` and `sandbox run`: a streamed exec whose interruption ends the command inside too.
import type { Client } from '../client/client.ts';
import type { ExecRequest, ExecResult } from '../schema/exec.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';
import { passOn } from './exec-output.ts';
import { INTERRUPTED, interruptible } from './interruption.ts';
import { execWithInput } from './live-exec.ts';
import { line, say } from './say.ts';
import { keeping, passing } from './sink.ts';

/** `passed` on as it came, or `kept` for the one JSON document that --json prints. */
export type OutputMode = 'passed' | 'kept';

type ExecOutcomePart = Partial<ExecResult> & { exit_code: number };

/** Without `exit_code` where it is not known: `state` then says why. */
export type ExecOutcome = Partial<ExecResult> & {
  sandbox_id: string;
  state?: 'running';
  /** How the sandbox differs from what was asked. */
  warnings?: string[];
};

/** Runs `request` in sandbox `id`. Ctrl-C closes the call, which kills the command. */
export async function execIn(
  client: Client,
  { id, output, input = false }: { id: string; output: OutputMode; input?: boolean },
  request: ExecRequest,
): Promise<ExecOutcome> {
  const work = async (signal: AbortSignal) => {
    const { encoding: _, ...plain } = request;
    const sink = output === 'kept' ? keeping() : passing();
    if (input) return execWithInput(client, id, plain, { sink, signal });
    if (output === 'kept') return client.exec(id, { ...request, encoding: 'utf8' }, signal);
    const lines = client.execStream(id, request, signal);
    return passOn(lines, { stdout: process.stdout, stderr: process.stderr });
  };
  return {
    sandbox_id: id,
    ...(await interruptible<ExecOutcomePart>(work, () => ({ exit_code: INTERRUPTED }))),
  };
}

/** Spawns, runs, destroys. The sandbox is destroyed whatever the command did, unless `keep`. */
export async function runOnce(
  client: Client,
  wanted: { spawn: SpawnRequest; exec: ExecRequest; keep: boolean; output: OutputMode; input: boolean },
): Promise<ExecOutcome> {
  const { id, warnings = [] } = await client.spawn(wanted.spawn);
  const isKept = wanted.output === 'kept' && warnings.length > 0;
  if (!isKept) for (const warning of warnings) say(line`warning: ${warning}`, process.stderr);
  try {
    const outcome = await execIn(client, { ...wanted, id }, wanted.exec);
    return isKept ? { ...outcome, warnings } : outcome;
  } finally {
    if (wanted.keep) say(line`${id}`, process.stderr);
    else await client.destroy(id);
  }
}
