// JSON of answers whose parts were answered before: the text of a frozen object is kept as long as the object. Its members
// have to be frozen too, or it would show what they were.

interface Kept {
  text: string;
  /** In UTF-8. */
  bytes: number;
}

const texts = new WeakMap<object, Kept>();

/** As JSON.stringify, of an object or a list of them; a list, which may be long, as the bytes that are sent. */
export function keptJson(answer: unknown): string | Buffer {
  return Array.isArray(answer) ? listed(answer.map(textOf)) : textOf(answer as object).text;
}

function textOf(part: object): Kept {
  const known = texts.get(part);
  if (known !== undefined) return known;
  const text = JSON.stringify(part);
  const fresh = { text, bytes: Buffer.byteLength(text) };
  if (Object.isFrozen(part)) texts.set(part, fresh);
  return fresh;
}

/** Written one by one: a text of them all would be gone through to be joined, to be counted and to be encoded. */
function listed(parts: readonly Kept[]): Buffer {
  const length = parts.reduce((sum, { bytes }) => sum + bytes, 1 + Math.max(1, parts.length));
  const list = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { text } of parts) {
    list[at] = at === 0 ? OPEN : COMMA;
    at += 1 + list.write(text, at + 1);
  }
  if (at === 0) list[at++] = OPEN;
  list[at] = CLOSE;
  return list;
}

const [OPEN, COMMA, CLOSE] = Buffer.from('[,]') as unknown as [number, number, number];
