// Owner names: who a sandbox is charged to (docs/design/api.md#conventions). A name goes into headers, paths and logs,
// so the set is narrow. Comparison is exact: no case folding, no Unicode normalisation.
import { ServiceError } from './errors.ts';

const MAX_CHARACTERS = 128;
/**
 * White space, control characters, halves of surrogate pairs, path separators; and what nobody sees, so that two names which
 * look alike are not two owners: format characters, those that Unicode says to ignore, the empty braille cell.
 */
const FORBIDDEN = String.raw`\s\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{DI}\u2800/\\`;
/** What `parseOwner` gives; a Unicode-aware regular expression. */
export const OWNER_PATTERN = `^[^${FORBIDDEN}]{1,${MAX_CHARACTERS}}$`;
const OWNER = new RegExp(OWNER_PATTERN, 'u');
/** What is taken for surroundings. Other white space is part of a name, and forbidden: it must not make one name of two. */
const SURROUNDING = /^[ \t\r\n\f\v]+|[ \t\r\n\f\v]+$/g;

/** `text` without ASCII white space around it: how an owner is named everywhere, whether or not it can be one. */
export function trimmedOwner(text: string): string {
  return text.replace(SURROUNDING, '');
}

/** `trimmedOwner`, 1 to 128 characters. Throws `bad_request` naming `field`. */
export function parseOwner(text: string, field: string): string {
  const owner = trimmedOwner(text);
  // A character is at most two UTF-16 units: refuses a huge text before it is read.
  if (owner.length > 2 * MAX_CHARACTERS || !OWNER.test(owner))
    throw new ServiceError('bad_request', `${field} is not a valid owner.`, {
      remedy: 'Use 1 to 128 characters without white space, control and invisible characters, / or \\.',
    });
  return owner;
}
