// Owner names: who a sandbox is charged to (specification part 2). A name goes into headers, paths and logs, so the
// set is narrow. Comparison is exact: no case folding, no Unicode normalisation.
import { ServiceError } from './errors.ts';

const MAX_CHARACTERS = 128;
/** White space, control characters, halves of surrogate pairs, path separators. */
const FORBIDDEN = /[\s\p{Cc}\p{Cs}/\\]/u;

/** `text` without surrounding white space, 1 to 128 characters. Throws `bad_request` naming `field`. */
export function parseOwner(text: string, field: string): string {
  const owner = text.trim();
  // A character is at most two UTF-16 units: refuses a huge text before it is spread.
  const tooLong = owner.length > 2 * MAX_CHARACTERS || [...owner].length > MAX_CHARACTERS;
  if (owner === '' || tooLong || FORBIDDEN.test(owner))
    throw new ServiceError('bad_request', `${field} is not a valid owner.`, {
      remedy: 'Use 1 to 128 characters without white space, control characters, / or \\.',
    });
  return owner;
}
