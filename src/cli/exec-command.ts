// Base of the two commands that end with the status of what they ran.
import type { ExecOutcome } from './run-once.ts';
import { SvcCommand } from './svc-command.ts';

/** A failure of ours, apart from every status a command can have by itself (as `docker exec` and `env` do). */
const OUR_FAILURE = 125;

export abstract class ExecCommand extends SvcCommand<ExecOutcome> {
  protected override exitCodeOf(): number {
    return OUR_FAILURE;
  }

  /** Waits for the outcome and makes its exit code this process's. */
  protected async finish(work: Promise<ExecOutcome>): Promise<ExecOutcome> {
    const outcome = await work;
    process.exitCode = outcome.exit_code;
    return outcome;
  }
}
