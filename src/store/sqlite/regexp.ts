// REGEXP of SQL as a Unicode-aware regular expression of JavaScript.

/** For `Database.function`. Its text also runs in another process: it refers to nothing outside itself. */
export function matcher(): (pattern: unknown, value: unknown) => number {
  const known = new Map<unknown, RegExp>();
  return (pattern, value) => {
    const regexp = known.get(pattern) ?? new RegExp(String(pattern), 'u');
    known.set(pattern, regexp);
    return Number(regexp.test(String(value)));
  };
}
