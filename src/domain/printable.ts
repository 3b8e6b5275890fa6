// Text of strangers made fit for a terminal: names, outputs and messages may hold bytes that move the cursor, retitle
// the window or turn the line around.

const HOSTILE = /[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;
const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `text` with control, direction and invisible characters shown as escapes: `\n`, `\x1b`, `\u{202e}`. */
export function printable(text: string): string {
  return text.replace(HOSTILE, (char) => NAMED[char] ?? escapeOf(char.codePointAt(0) ?? 0));
}

/** Like `printable`, but lines stay lines. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join('\n');
}

/** What JSON leaves as it is and terminals obey. */
const HOSTILE_IN_JSON = /[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** `value` as JSON that reads the same and does nothing on a terminal. */
export function printableJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? '';
  return text.replace(HOSTILE_IN_JSON, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function escapeOf(code: number): string {
  return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
}
