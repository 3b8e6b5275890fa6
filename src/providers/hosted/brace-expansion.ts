// Brace expansion of glob patterns. A shell expands braces only in its own text, and a caller's pattern never becomes that.
import { ServiceError } from '../../domain/errors.ts';

const MOST = 256;

/** All patterns that `pattern` with `{a,b}` expands to. Throws `bad_request` for more than 256. */
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

/** Expands the first innermost braces with a comma. */
function once(pattern: string): string[] {
  const found = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(pattern);
  if (!found) return [pattern];
  const [whole, inner = ''] = found;
  const [before, after] = [pattern.slice(0, found.index), pattern.slice(found.index + whole.length)];
  return inner.split(',').map((each) => before + each + after);
}
