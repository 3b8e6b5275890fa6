// How what runs differs from what was asked: kept with the sandbox as its warnings, or, where it was asked for strictly, a
// reason not to make it.
import { LONGEST_WARNING, MOST_WARNINGS } from '../schema/sandbox.ts';
import { ServiceError } from './errors.ts';

/** The remedy of `refuseDifferences`. */
export const OMIT_STRICT =
  'Change the request, or omit strict to get the sandbox with these differences as warnings.';

/** As many and as long as are kept. */
export function keptWarnings(all: readonly string[]): string[] {
  return all
    .slice(0, MOST_WARNINGS)
    .map((text) => (text.length > LONGEST_WARNING ? `${text.slice(0, LONGEST_WARNING - 1)}…` : text));
}

/** Throws `precondition_failed` that names each of `differences` when there are any and it was asked for strictly. */
export function refuseDifferences(strict: boolean | undefined, differences: readonly string[]): void {
  if (strict !== true || differences.length === 0) return;
  const unmet = keptWarnings(differences);
  throw new ServiceError(
    'precondition_failed',
    `The sandbox would differ from the request. ${unmet.join(' ')}`,
    {
      remedy: OMIT_STRICT,
      details: { unmet },
    },
  );
}
