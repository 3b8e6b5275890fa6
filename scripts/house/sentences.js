// The sentences of a file that a person reads: strings, comments, and the prose of C files, documents and scripts.
import ts from 'typescript';
import { eachNode, lineOf } from './sources.js';
import { FRAGMENT, NAMES, PHRASES } from './words.js';

/** @typedef {import('./sources.js').Source} Source */
/** @typedef {{ line: number, text: string, kind: 'string' | 'comment' | 'name', isDoc?: boolean }} Sentence */
/** @typedef {{ path: string, line: number, kind: Sentence['kind'], name: string, found: string, instead: string, text: string }} Violation */

const SQL =
  /\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|BEGIN|COMMIT|WHERE|FROM|VALUES|UNION|LEFT JOIN|ORDER BY|AND|CASE WHEN)\b/;

/** Text between backquotes is code. @param {string} text */
const withoutCode = (text) => text.replace(/`[^`]*`/g, '``');

/**
 * Strings of at least two words that a person can read: no SQL, no module names.
 *
 * @param {Source} source
 * @returns {Sentence[]}
 */
export function stringsOf(source) {
  /** @type {Sentence[]} */
  const found = [];
  eachNode(source.tree, (node) => {
    if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return;
    const text = ts.isTemplateExpression(node)
      ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…')
      : node.text;
    const isProse = /[A-Za-z…]\S* +\S*[A-Za-z…]/.test(text) && !SQL.test(text);
    if (isProse && !ts.isLiteralTypeNode(node.parent))
      found.push({ line: lineOf(source, node), text, kind: 'string' });
  });
  return found;
}

/**
 * Comments; lines that follow each other are one.
 *
 * @param {Source} source
 * @returns {Sentence[]}
 */
export function commentsOf({ text, tree }) {
  /** @type {Map<number, ts.CommentRange>} */
  const ranges = new Map();
  eachNode(tree, (node) => {
    const around = [
      ...(ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(text, node.getEnd()) ?? []),
    ];
    for (const range of around) ranges.set(range.pos, range);
  });
  /** @type {Sentence[]} */
  const found = [];
  let last = { end: -1, isLine: false };
  for (const { pos, end, kind } of [...ranges.values()].sort((a, b) => a.pos - b.pos)) {
    const raw = text.slice(pos, end);
    const isLine = kind === ts.SyntaxKind.SingleLineCommentTrivia;
    const line = tree.getLineAndCharacterOfPosition(pos).line + 1;
    const words = plainComment(raw);
    const before = found.at(-1);
    if (before && isLine && last.isLine && /^\s*\n?\s*$/.test(text.slice(last.end, pos)))
      before.text = `${before.text} ${words}`;
    else found.push({ line, text: words, kind: 'comment', isDoc: raw.startsWith('/**') });
    last = { end, isLine };
  }
  return found;
}

/** @param {string} raw */
function plainComment(raw) {
  return raw
    .replace(/^\/\*\*?|\*\/$/g, '')
    .replace(/^[ \t]*(?:\*|\/\/+)[ \t]?/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/**
 * Names that the file declares.
 *
 * @param {Source} source
 * @returns {Sentence[]}
 */
export function namesOf(source) {
  /** @type {Sentence[]} */
  const found = [];
  eachNode(source.tree, (node) => {
    const name = /** @type {{ name?: ts.Node }} */ (/** @type {unknown} */ (node)).name;
    const declares =
      name &&
      (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) &&
      !ts.isPropertyAccessExpression(node) &&
      !ts.isImportSpecifier(node) &&
      !ts.isMetaProperty(node);
    if (declares) found.push({ line: lineOf(source, name), text: name.getText(), kind: 'name' });
  });
  return found;
}

/**
 * The prose of a file that is not a program of ours in TypeScript: every line of a document outside of blocks of code, the
 * comments and strings of C, the comments of YAML, shell and Python.
 *
 * @param {string} path
 * @param {string} text
 * @returns {Sentence[]}
 */
export function proseOf(path, text) {
  const kind = /** @type {const} */ ('comment');
  if (/\.[ch]$/.test(path)) {
    return [...text.matchAll(/\/\*[\s\S]*?\*\/|\/\/.*|"(?:[^"\\\n]|\\.)*"/g)]
      .filter(([found]) => !found.startsWith('"') || /[a-z] +[a-z]/i.test(found))
      .map((match) => ({
        line: lineAt(text, match.index),
        text: plainComment(match[0]),
        kind: match[0].startsWith('"') ? /** @type {const} */ ('string') : kind,
      }));
  }
  const plain = path.endsWith('.md')
    ? text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, ''))
    : text;
  return plain.split('\n').flatMap((line, index) => {
    const words = path.endsWith('.md') ? line : (/(?:^|\s)#(?!!)\s?(.*)$/.exec(line)?.[1] ?? '');
    return words.trim() ? [{ line: index + 1, text: words.trim(), kind }] : [];
  });
}

/** @param {string} text @param {number} position */
const lineAt = (text, position) => text.slice(0, position).split('\n').length;

/**
 * What the phrases of words.js find in a sentence.
 *
 * @param {string} path
 * @param {Sentence} sentence
 * @returns {Violation[]}
 */
export function violationsOf(path, { line, text, kind, isDoc }) {
  if (kind === 'name') {
    const words = text.replace(/^#/, '').split(/(?=[A-Z])|_/);
    return words
      .filter((word) => NAMES.has(word.toLowerCase()))
      .map((found) => ({
        path,
        line,
        kind,
        name: 'identifier',
        found,
        instead: 'the noun it stands for',
        text,
      }));
  }
  const plain = kind === 'comment' ? withoutCode(text) : text;
  const found = PHRASES.flatMap(({ name, pattern, instead }) =>
    [...plain.matchAll(pattern)].map(([match]) => ({ path, line, kind, name, found: match, instead, text })),
  );
  const [start] = isDoc ? (plain.match(FRAGMENT.pattern) ?? []) : [];
  if (start !== undefined)
    found.push({ path, line, kind, name: FRAGMENT.name, found: start, instead: FRAGMENT.instead, text });
  return found;
}

/** @param {Source} source @returns {Violation[]} */
export function violationsIn(source) {
  return [...stringsOf(source), ...commentsOf(source), ...namesOf(source)].flatMap((sentence) =>
    violationsOf(source.path, sentence),
  );
}
