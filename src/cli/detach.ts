// The work of `sandbox exec --detach`: what is left behind is its id.
import type { Client } from '../client/client.ts';
import type { ExecRequest } from '../schema/exec.ts';
import type { ExecOutcome, OutputMode } from './run-once.ts';
import { line, say } from './say.ts';

/** Prints the id alone, so that a script can keep it. */
export async function detachIn(
  client: Client,
  target: { id: string; output: OutputMode },
  { encoding: _, ...request }: ExecRequest,
): Promise<ExecOutcome> {
  const exec_id = await client.execs.detach(target.id, request);
  if (target.output === 'passed') say(line`${exec_id}`);
  return { sandbox_id: target.id, exec_id, state: 'running' };
}
