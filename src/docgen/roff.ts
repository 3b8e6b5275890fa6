// The mdoc language of manual pages. Text must never become a request: a line that starts with a dot or a quote, and a
// backslash anywhere, would be read as one.

/** A fixed day: pages of one source are the same bytes whenever they are made. */
const DAY = 'January 1, 2026';
/** The width of a text line in the source of a page; `mandoc -T lint` accepts 80, escapes included. */
const WIDTH = 72;

/** Text for a line of its own. */
export function roffText(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replace(/[^\x20-\x7e\n]/gu, named)
    // Two that may be typed, not a dash.
    .replaceAll('--', '\\-\\-');
  return escaped.replace(/^(?=[.'])/gm, '\\&');
}

/** An argument of a macro, in quotes, so that it is not read as a macro and can contain spaces. */
export function roffArgument(text: string): string {
  return `"${roffText(text).replaceAll('"', '\\(dq')}"`;
}

function named(char: string): string {
  return `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
}

/** Sentences each on lines of their own, as mdoc wants them, broken where they are long; no lines for no text. */
export function paragraph(text: string): string[] {
  const sentences = text.split(/(?<=[.!?;])\s+(?=[A-Z(`])|\n+/);
  return sentences.flatMap(broken).map(roffText);
}

/** At blanks, so that no line is longer than `WIDTH` unless one word is. */
function broken(sentence: string): string[] {
  const lines: string[] = [];
  for (const word of sentence.split(' ').filter((part) => part !== '')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export interface PageHead {
  title: string;
  section: number;
  version: string;
  /** One line, no full stop. */
  purpose: string;
}

/** Header and NAME of a page. */
export function pageHead({ title, section, version, purpose }: PageHead): string[] {
  return [
    `.\\" Generated from the source of svc ${version} by npm run generate; do not edit.`,
    `.Dd ${DAY}`,
    `.Dt ${title.toUpperCase()} ${section}`,
    '.Os',
    '.Sh NAME',
    `.Nm ${title}`,
    `.Nd ${roffText(purpose)}`,
  ];
}

/** A tagged list: each entry a tag macro line and its text lines. */
export function taggedList(entries: readonly (readonly [tag: string, lines: readonly string[]])[]): string[] {
  return ['.Bl -tag -width Ds', ...entries.flatMap(([tag, lines]) => [`.It ${tag}`, ...lines]), '.El'];
}

/** Lines as they are typed. */
export function display(lines: readonly string[]): string[] {
  return ['.Bd -literal -offset indent', ...lines.map(roffText), '.Ed'];
}

/** Section with its heading; nothing when it would be empty. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`.Sh ${title}`, ...lines];
}

/** Lines as the text of a page. */
export function page(...parts: readonly (readonly string[])[]): string {
  return `${parts.flat().join('\n')}\n`;
}
