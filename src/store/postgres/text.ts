// Texts in PostgreSQL. It stores every character but NUL, and UTF-8 has no lone surrogates; both may be in texts of callers.

/** A private character that starts an escape: followed by `0` it stands for NUL, by `1` for itself. */
const ESCAPE = '\u{f0000}';

/** Returns the text as it is stored. Lone surrogates become U+FFFD, as in every UTF-8 file. */
export function encodeText(text: string): string {
  const escaped =
    text.includes('\0') || text.includes(ESCAPE)
      ? text.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll('\0', `${ESCAPE}0`)
      : text;
  return /\p{Surrogate}/u.test(escaped) ? Buffer.from(escaped).toString() : escaped;
}

/** Returns the text that `encodeText` was given. */
export function decodeText(stored: string): string {
  return stored.includes(ESCAPE)
    ? stored.replaceAll(`${ESCAPE}0`, '\0').replaceAll(`${ESCAPE}1`, ESCAPE)
    : stored;
}

/** A `jsonb` parameter, whose texts are encoded already. */
export interface EncodedJson {
  json: string;
}

/** JSON without NUL and lone surrogates, which `jsonb` rejects even when they are escaped. */
export function encodeJson(value: unknown): EncodedJson {
  const encode = (_key: string, item: unknown) => (typeof item === 'string' ? encodeText(item) : item);
  return { json: JSON.stringify(value, encode) };
}
