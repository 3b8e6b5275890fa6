// Base of the commands that work on this machine's files: a line that tells how far they are, an end by Ctrl-C that
// cleans up, and failures of the file system in our codes.
import { realClock } from '../host/clock.ts';
import { INTERRUPTED, interruptible } from './interruption.ts';
import { withLocalErrors } from './local-failure.ts';
import { stageLineOn } from './progress.ts';
import { SvcCommand } from './svc-command.ts';

export interface Watch {
  signal: AbortSignal;
  onStage(stage: string, done?: number, total?: number): void;
}

export abstract class OperatorCommand<Result> extends SvcCommand<Result | { interrupted: true }> {
  /** Runs `work`; undefined when it was interrupted. `words` say what a stage does. */
  protected async watched<T>(
    words: Readonly<Record<string, string>>,
    work: (watch: Watch) => Promise<T>,
  ): Promise<T | undefined> {
    const line = stageLineOn(
      this.jsonEnabled() ? { write: () => {} } : process.stderr,
      realClock().monotonic,
    );
    const onStage: Watch['onStage'] = (stage, done, total) => line.show(words[stage] ?? stage, done, total);
    return interruptible<T | undefined>(
      (signal) => withLocalErrors(work({ signal, onStage })),
      () => undefined,
    ).finally(line.end);
  }

  protected interrupted(): { interrupted: true } {
    process.exitCode = INTERRUPTED;
    return { interrupted: true };
  }
}
