// The console of a sandbox: output of the agent, of template setup and of detached commands, bounded inside the
// sandbox.
import type { Hold } from '../../domain/byte-ledger.ts';
import { asServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { LogLine } from '../../schema/exec.ts';
import type { Caller } from '../api/caller.ts';
import type { Logs } from '../api/execs.ts';
import { orSilence } from '../async/silence.ts';
import type { OpenSandbox, SandboxAccess } from './session-access.ts';

const LINE_BYTES = 32;

export function logs({ access, clock }: { access: SandboxAccess; clock: Clock }): Logs {
  const open = async (id: string, caller: Caller, signal: AbortSignal) =>
    access.open(await access.find(id, caller), signal);
  return {
    read: (id, lines, caller, signal, hold) =>
      access.explainFailure(id, async () => {
        const held = await open(id, caller, signal);
        const kept: string[] = [];
        for await (const line of released(held, held.io.console({ lines, follow: false }, signal)))
          keepLast(kept, line, lines, hold);
        return kept.slice(-lines);
      }),
    async follow(id, lines, caller, signal) {
      const held = await open(id, caller, signal);
      const console = held.io.console({ lines, follow: true }, signal);
      const why = (error: unknown) => access.explainFailure(id, () => Promise.reject(error));
      return followed(released(held, console), { clock, signal, why });
    },
  };
}

/** Keeps the last lines of a console that is longer than the request. */
function keepLast(kept: string[], line: string, most: number, hold: Hold): void {
  hold.grow(bytesOf(line));
  kept.push(line);
  if (kept.length < 2 * most) return;
  for (const dropped of kept.splice(0, most)) hold.shrink(bytesOf(dropped));
}

/** Two bytes for a character beyond Latin-1, plus the cost of each string. */
const bytesOf = (line: string) => 2 * line.length + LINE_BYTES;

/** Ends without an error when the sandbox ends: that is the end of its console. */
async function* followed(
  lines: AsyncGenerator<string>,
  { clock, signal, why }: { clock: Clock; signal: AbortSignal; why(error: unknown): Promise<never> },
): AsyncGenerator<LogLine | undefined> {
  try {
    for await (const line of orSilence(lines, clock)) yield line === undefined ? undefined : { line };
  } catch (error) {
    if (signal.aborted) return;
    await why(error).catch((cause: unknown) => {
      if (asServiceError(cause).code !== 'not_found') throw cause;
    });
  }
}

/** Releases the session when the lines end or the reader leaves. */
async function* released(held: OpenSandbox, lines: AsyncIterable<string>): AsyncGenerator<string> {
  let failure: unknown;
  try {
    yield* lines;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    held.release(failure);
  }
}
