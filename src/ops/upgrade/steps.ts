// The book of a rehearsal: each step is timed, a failing one is written down and ends the rehearsal, not the program.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { RehearsalStep } from '../../schema/rehearsal.ts';

/** What a step found. Problems make it fail, unless they are only to be known of. */
export interface StepOutcome<T> {
  value: T;
  result: string;
  problems?: readonly string[];
  /** Its problems are none of the upgrade's. */
  mild?: boolean;
}

type Named = Pick<RehearsalStep, 'id' | 'title'>;

export class Steps {
  readonly list: RehearsalStep[] = [];
  readonly #clock: Clock;
  #halted = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get failed(): boolean {
    return this.list.some(({ status }) => status === 'fail');
  }

  /** The value of `work`; undefined when the step failed, or is left out because one that was taken before it did. */
  async take<T>(named: Named, work: () => Promise<StepOutcome<T>>): Promise<T | undefined> {
    if (this.#halted) {
      this.list.push({ ...named, status: 'skip', result: 'skipped', problems: [], duration_ms: 0 });
      return undefined;
    }
    const value = await this.note(named, work);
    this.#halted = this.list.at(-1)?.status === 'fail';
    return value;
  }

  /** As `take`, for a step on which the others do not build. */
  async note<T>(named: Named, work: () => Promise<StepOutcome<T>>): Promise<T | undefined> {
    const started = this.#clock.monotonic();
    const { value, result, problems = [], mild = false } = await work().catch(asFinding<T>);
    const status = problems.length === 0 ? 'pass' : mild ? 'warn' : 'fail';
    const duration_ms = Math.round(this.#clock.monotonic() - started);
    this.list.push({ ...named, status, result, problems: [...problems], duration_ms });
    return status === 'fail' ? undefined : value;
  }
}

/** A database that is not sound is what a rehearsal looks for; a full disk or a wrong path is not. */
function asFinding<T>(error: unknown): StepOutcome<T | undefined> {
  if (!(error instanceof ServiceError)) throw error;
  const listed = error.details?.problems;
  if (!Array.isArray(listed) && error.code !== 'internal') throw error;
  const problems = Array.isArray(listed) ? listed.map(wordsOf) : [error.message];
  return { value: undefined, result: error.message, problems };
}

const wordsOf = (problem: unknown) => {
  const message = (problem as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : String(problem);
};
