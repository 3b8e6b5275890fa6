// Finds text that is JSON by its syntax and still invalid: half a surrogate pair can be written as an escape, and every
// response that repeats it would be invalid JSON for strict readers. Bytes that are UTF-8 hold none, so only bodies
// with such escapes are searched.
import { ServiceError } from '../../domain/errors.ts';

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;
/** Read by code points, so that only one without its other half is a surrogate. */
const HALF = /\p{Surrogate}/u;
const NAME_CHARACTERS = 128;

/** Throws `bad_request` naming the first field of `value`, read from `text`, that holds half a surrogate pair. */
export function refuseHalfPairs(text: string, value: unknown): void {
  if (!SURROGATE_ESCAPE.test(text)) return;
  const field = illFormed(value);
  if (field === undefined) return;
  // A cut may have left one in the name.
  throw halfPair(field.replace(/\p{Surrogate}/gu, '\ufffd'));
}

/** `name` is the field that holds it. */
export function halfPair(name: string): ServiceError {
  return new ServiceError(
    'bad_request',
    `${name} contains half of a surrogate pair, which is not valid text.`,
    {
      remedy: 'Send both halves or the complete character.',
    },
  );
}

/** Does not recurse: a body may be nested as deeply as it is long. */
function illFormed(root: unknown): string | undefined {
  const left: { value: unknown; name: string }[] = [{ value: root, name: '' }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, name } = next;
    if (typeof value === 'string' && HALF.test(value)) return name || 'The body';
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      const named = (name === '' ? key : `${name}.${key}`).slice(0, NAME_CHARACTERS);
      if (HALF.test(key)) return `A key of ${name || 'the body'}`;
      left.push({ value: inner, name: named });
    }
  }
  return undefined;
}
