// The work of `sandbox exec` and `sandbox run`: a streamed exec whose interruption ends the command inside too.
import type { Client } from '../http/client.ts';
import type { ExecRequest } from '../schema/exec.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';
import { passOn } from './exec-output.ts';

export interface ExecOutcome {
  sandbox_id: string;
  exit_code: number;
  duration_ms: number;
  timed_out: boolean;
}

/** Runs `request` in sandbox `id` and passes its output on. Ctrl-C closes the stream, which kills the command. */
export async function execIn(client: Client, id: string, request: ExecRequest): Promise<ExecOutcome> {
  const interruption = new AbortController();
  const stop = () => interruption.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const lines = client.execStream(id, request, interruption.signal);
    return { sandbox_id: id, ...(await passOn(lines, { stdout: process.stdout, stderr: process.stderr })) };
  } catch (error) {
    if (interruption.signal.aborted)
      return { sandbox_id: id, exit_code: 130, duration_ms: 0, timed_out: false };
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** Spawns, runs, destroys. The sandbox is destroyed whatever the command did, unless `keep`. */
export async function runOnce(
  client: Client,
  wanted: { spawn: SpawnRequest; exec: ExecRequest; keep: boolean },
): Promise<ExecOutcome> {
  const { id, warnings = [] } = await client.spawn(wanted.spawn);
  for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  try {
    return await execIn(client, id, wanted.exec);
  } finally {
    if (wanted.keep) process.stderr.write(`${id}\n`);
    else await client.destroy(id);
  }
}
