// A command to its end, its outputs kept up to the cap, one answer (docs/design/api.md#execs).
import type { Exec } from '../../agent/io.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import { displayDuration } from '../../domain/duration.ts';
import { deadlineFailure } from '../../domain/exec-request.ts';
import { CappedOutput } from '../../domain/output.ts';
import type { ExecEnded } from '../api/execs.ts';
import type { StartedExec } from './exec-start.ts';

/** Output is cut where `hold` or the cap ends. Throws `timeout`, with the output so far, after the deadline. */
export async function execResult(
  { exec, encoding, attached }: StartedExec,
  maxOutputBytes: number,
  hold: Hold,
): Promise<ExecEnded> {
  const output = () => new CappedOutput(maxOutputBytes, hold);
  const kept = { stdout: output(), stderr: output() };
  await collect(exec, kept);
  const { exit_code, signal, timed_out, duration_ms } = await exec.exit;
  const stdout = kept.stdout.as(encoding);
  const stderr = kept.stderr.as(encoding);
  const isCut = attached?.truncated === true;
  if (timed_out) throw deadlineFailure({ exec_id: exec.exec_id, stdout, stderr });
  return {
    exec_id: exec.exec_id,
    exit_code,
    ...(signal !== undefined && { signal }),
    stdout,
    stderr,
    duration: displayDuration(duration_ms),
    duration_ms,
    stdout_truncated: isCut || kept.stdout.truncated,
    stderr_truncated: isCut || kept.stderr.truncated,
  };
}

async function collect(exec: Exec, kept: Record<'stdout' | 'stderr', CappedOutput>): Promise<void> {
  try {
    for await (const { channel, data } of exec.output) kept[channel].add(data);
  } catch {
    // A lost session breaks both; `exit` has the better error.
  }
}
