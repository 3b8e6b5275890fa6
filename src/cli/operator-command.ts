// Base of commands that work on local files: shows progress, cleans up after Ctrl-C, and reports file system errors as
// ServiceErrors.
import { realClock } from '../host/clock.ts';
import { interruptible } from './interruption.ts';
import { withLocalErrors } from './local-failure.ts';
import { stageLineOn } from './progress.ts';
import { SvcCommand } from './svc-command.ts';

/** Stages whose progress is a number of rows. */
const IN_ROWS: readonly string[] = ['rows', 'compare'];

export interface Watch {
  signal: AbortSignal;
  onStage(stage: string, done?: number, total?: number): void;
}

export abstract class OperatorCommand extends SvcCommand {
  /** Runs `work`; undefined if it was interrupted. `words` are the progress texts by stage. */
  protected async watched<T>(
    words: Readonly<Record<string, string>>,
    work: (watch: Watch) => Promise<T>,
  ): Promise<T | undefined> {
    const line = stageLineOn(
      this.jsonEnabled() ? { write: () => {} } : process.stderr,
      realClock().monotonic,
    );
    const onStage: Watch['onStage'] = (stage, done, total) =>
      line.show(words[stage] ?? stage, { done, total, unit: IN_ROWS.includes(stage) ? 'rows' : 'bytes' });
    return interruptible<T | undefined>(
      (signal) => withLocalErrors(work({ signal, onStage })),
      () => undefined,
    ).finally(line.end);
  }
}
