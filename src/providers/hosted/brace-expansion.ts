// Braces of a pattern, which a shell expands only in its own text: a pattern of a caller never becomes that.
import { ServiceError } from '../../domain/errors.ts';

const MOST = 256;

/** Every pattern that `pattern` with `{a,b}` stands for. Throws `bad_request` for too many. */
export function bracesExpanded(pattern: string): string[] {
  let done = [pattern];
  for (;;) {
    const next = done.flatMap(once);
    if (next.length > MOST)
      throw new ServiceError('bad_request', 'The pattern expands to too many patterns.', {
        remedy: `Use braces for at most ${MOST} patterns.`,
      });
    if (next.length === done.length && next.every((each, n) => each === done[n])) return done;
    done = next;
  }
}

/** The first innermost braces with a comma. */
function once(pattern: string): string[] {
  const found = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(pattern);
  if (!found) return [pattern];
  const [whole, inner = ''] = found;
  const [before, after] = [pattern.slice(0, found.index), pattern.slice(found.index + whole.length)];
  return inner.split(',').map((each) => before + each + after);
}
