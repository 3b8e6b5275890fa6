// The one way in which words for people reach an output. What servers, backends, images and guests say may hold bytes that a
// terminal obeys; none of them gets through here, whatever a view forgot. Data that is asked for as it is (the output of a
// command, a file) goes to the output directly, in the few files that test/rules/terminal.test.ts names.
import { printable } from '../domain/printable.ts';
import { paintFor } from './paint.ts';

/** What paint.ts makes: bold, dim and colours, nothing that hides text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character is what it looks for.
const STYLE = /(\x1b\[(?:1|2|22|3[1-7]|39|90)m)/;

/** `text` with what a terminal would obey shown as escapes; lines stay lines, and our own styles stay where there are any. */
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

/** A line with what strangers say in it: a value cannot begin another line. */
export function line(words: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return String.raw({ raw: words }, ...values.map((value) => printable(String(value))));
}
