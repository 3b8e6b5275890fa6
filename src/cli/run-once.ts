// The work of `sandbox exec` and `sandbox run`: a streamed exec whose interruption ends the command inside too.
import type { Client } from '../http/client.ts';
import type { ExecRequest, ExecResult } from '../schema/exec.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';
import { passOn } from './exec-output.ts';

/** As a shell shows a command that Ctrl-C ended. */
const INTERRUPTED = 130;

/** `passed` on as it came, or `kept` for the one JSON document that --json prints. */
export type OutputMode = 'passed' | 'kept';

export interface ExecOutcome extends Partial<ExecResult> {
  sandbox_id: string;
  exit_code: number;
}

/** Runs `request` in sandbox `id`. Ctrl-C closes the call, which kills the command. */
export async function execIn(
  client: Client,
  target: { id: string; output: OutputMode },
  request: ExecRequest,
): Promise<ExecOutcome> {
  const { id } = target;
  const interruption = new AbortController();
  const stop = () => interruption.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    if (target.output === 'kept') {
      const result = await client.exec(id, { ...request, encoding: 'utf8' }, interruption.signal);
      return { sandbox_id: id, ...result };
    }
    const lines = client.execStream(id, request, interruption.signal);
    return { sandbox_id: id, ...(await passOn(lines, { stdout: process.stdout, stderr: process.stderr })) };
  } catch (error) {
    if (interruption.signal.aborted) return { sandbox_id: id, exit_code: INTERRUPTED };
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** Spawns, runs, destroys. The sandbox is destroyed whatever the command did, unless `keep`. */
export async function runOnce(
  client: Client,
  wanted: { spawn: SpawnRequest; exec: ExecRequest; keep: boolean; output: OutputMode },
): Promise<ExecOutcome> {
  const { id, warnings = [] } = await client.spawn(wanted.spawn);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  try {
    return await execIn(client, { id, output: wanted.output }, wanted.exec);
  } finally {
    if (wanted.keep) process.stderr.write(`${id}\n`);
    else await client.destroy(id);
  }
}
