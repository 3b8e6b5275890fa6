// Takes the comments out of a plain configuration before it is parsed: two thirds of the lines of svc.yaml are comments, and
// the parser needs a fifth of a check for them. Lines and columns stay. Whether a line is a comment depends on the lines before it, so a
// text that has anything but entries which end on their line is left as it is.

/** Ends with what is not a space, so that a match takes time in proportion to the line. */
const PLAIN = String.raw`[\w/.~](?:[^"'#]*[^"'# ])?`;
const QUOTED = String.raw`"[^"\\]*"|'[^']*'`;
const FLOW = String.raw`[[{](?:"[^"\\]*"|[\w.,:/*@ -])*[\]}]`;
/** A key with or without a value, or an item of a list. */
const ENTRY = new RegExp(
  String.raw`^( *(?:- +)*)(?:([\w.-]+):(?: +(?=\S)(?!#)|(?= *$| +#)))?(${PLAIN}|${QUOTED}|${FLOW}|) *(?: #.*)?$`,
);
const COMMENT = /^ *#/;

/** The same text with empty lines for its comments, or as it is. */
export function withoutComments(text: string): string {
  const lines = text.split('\n');
  /** The next entry may not be deeper: it could belong to a value of several lines. */
  let deepest = Number.POSITIVE_INFINITY;
  for (const [at, line] of lines.entries()) {
    if (COMMENT.test(line)) lines[at] = '';
    else if (line.trim() !== '') {
      const [, before = '', key, value = ''] = ENTRY.exec(line.trimEnd()) ?? [];
      const isEntry = key !== undefined || (before.includes('-') && value !== '');
      const indent = before.search(/-|$/);
      if (!isEntry || indent > deepest) return text;
      const own = key === undefined ? before.lastIndexOf('-') : before.length;
      deepest = value === '' ? Number.POSITIVE_INFINITY : own;
    }
  }
  return lines.join('\n');
}
