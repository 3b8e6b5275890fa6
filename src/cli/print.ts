// Prints all text for people. Text from servers, backends, images and guests may contain terminal control sequences; this file
// escapes them, even if a view forgot to. Raw data (the output of a command, a file) goes to the output directly, in the few
// files that test/rules/terminal.test.ts names.
import { printable } from '../domain/printable.ts';
import { paintFor } from './paint.ts';

/** The styles of paint.ts: bold, dim and colours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for the escape character.
const STYLE = /(\x1b\[(?:1|2|22|3[1-7]|39|90)m)/;

/** Escapes control characters in `text`, except line breaks and, if `isStyled`, our own styles. */
export function terminalText(text: string, isStyled: boolean): string {
  const parts = (line: string) => (isStyled ? line.split(STYLE) : [line]);
  const safe = (line: string) =>
    parts(line)
      .map((part, at) => (at % 2 === 1 ? part : printable(part)))
      .join('');
  return text.split('\n').map(safe).join('\n');
}

/** Writes `text` and a line break. */
export function print(
  text: string,
  stream: { isTTY?: boolean; write(text: string): unknown } = process.stdout,
): void {
  stream.write(`${terminalText(text, paintFor(stream).level > 0)}\n`);
}

/** A line with untrusted values: they cannot start another line. */
export function line(words: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: words }, ...values.map((value) => printable(String(value))));
}
