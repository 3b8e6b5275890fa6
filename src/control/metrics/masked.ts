// Finds where a redacted copy differs from the original.

/** Dotted paths of leaves that differ, in order. */
export function maskedPlaces(before: unknown, after: unknown, place = ''): string[] {
  if (before === after) return [];
  if (!isNode(before) || !isNode(after)) return [place];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) =>
    maskedPlaces(before[key], after[key], place === '' ? key : `${place}.${key}`),
  );
}

const isNode = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
