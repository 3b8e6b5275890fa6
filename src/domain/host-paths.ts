// Removes host paths from texts and settings that were written for the operator. Paths that every Linux has (/dev,
// /proc, /sys) reveal nothing and stay.

const HIDDEN = '(path)';
const IN_TEXT =
  /(?:unix|file):[^\s,;"')]*[^\s,;"').:]|(?<![\p{L}\p{N}_./<\]])(?<!:(?=\/\/))\/(?!(?:dev(?!\/shm)|proc(?!\/[^/\s]*\/root)|sys)\/)(?:[\p{L}\p{N}_.@+~-]*[\p{L}\p{N}_@+~-])(?:\/[\p{L}\p{N}_.@+~-]*[\p{L}\p{N}_@+~-])*/gu;
const IS_PATH = /^(?:unix:|file:|~|\.{0,2}\/)/;

/** `text` with each path replaced; addresses of the web are left. */
export function withoutHostPaths(text: string): string {
  return text.replace(IN_TEXT, HIDDEN);
}

/** A configuration with each value that is a path replaced. */
export function withoutPathValues(value: unknown): unknown {
  if (typeof value === 'string') return IS_PATH.test(value) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map(withoutPathValues);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutPathValues(inner)]));
}
