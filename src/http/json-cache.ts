// JSON of answers whose parts were answered before: the text of a frozen object is kept as long as the object. Its members
// have to be frozen too, or it would show what they were.

const texts = new WeakMap<object, string>();

/** As JSON.stringify. */
export function cachedJson(part: object): string {
  const known = texts.get(part);
  if (known !== undefined) return known;
  const text = JSON.stringify(part);
  if (Object.isFrozen(part)) texts.set(part, text);
  return text;
}
