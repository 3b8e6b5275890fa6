// Base of the commands that exit with the status of the command they ran.
import { fstatSync } from 'node:fs';
import type { ServiceError } from '../domain/errors.ts';
import { ClientCommand } from './client-command.ts';
import type { ExecOutcome, OutputMode } from './exec.ts';

/** A failure of svc itself, as in `docker exec` and env(1). */
const OUR_FAILURE = 125;
/** The command timed out, as in timeout(1). */
const TIMED_OUT = 124;

export abstract class ExecCommand extends ClientCommand {
  protected override exitCodeOf(failure: ServiceError): number {
    return failure.code === 'timeout' && failure.details?.exec_id !== undefined ? TIMED_OUT : OUR_FAILURE;
  }

  /** Standard output with --json is one document that contains the command's output. */
  protected outputMode(): OutputMode {
    return this.jsonEnabled() ? 'kept' : 'passed';
  }

  /** Whether to pass standard input on: as the flag says, otherwise whenever something is piped or redirected to svc. */
  protected wantsInput(stdin: boolean | undefined): boolean {
    return stdin ?? hasInput();
  }

  /** Waits for the outcome and exits with its code; 0 for a command that still runs. */
  protected async finish(work: Promise<ExecOutcome>): Promise<ExecOutcome> {
    const outcome = await work;
    process.exitCode = outcome.exit_code ?? 0;
    return outcome;
  }
}

/** Terminals, /dev/null and other devices are not input: a command would wait for a person, or read without end. */
function hasInput(): boolean {
  try {
    const facts = fstatSync(0);
    return facts.isFIFO() || facts.isSocket() || (facts.isFile() && facts.size > 0);
  } catch {
    // Standard input is closed.
    return false;
  }
}
