// Conditions of lists, of which each caller uses some.
import type { Value } from './connection.ts';

/**
 * Joins the conditions whose values are all defined; each `?` becomes the next parameter. `shape` is a number that is
 * different for each selection.
 */
export function selected(conditions: readonly (readonly [string, readonly (Value | undefined)[]])[]): {
  where: string;
  values: Value[];
  shape: number;
} {
  const values: Value[] = [];
  const texts: string[] = [];
  let shape = 0;
  for (const [at, [text, given]] of conditions.entries()) {
    const known = given.filter((value) => value !== undefined);
    if (known.length < given.length) continue;
    shape += 2 ** at;
    let next = values.length;
    texts.push(text.replaceAll('?', () => `$${++next}`));
    values.push(...known);
  }
  return { where: texts.join(' AND ') || 'TRUE', values, shape };
}
