// Documents that comments and other documents name exist, and so do the headings they name.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../support/servers/server.ts';

/** Documents of other projects, which comments cite as sources. */
const FOREIGN = new Set(['docs/vsock.md', 'lz4_Frame_format.md', 'lz4_Block_format.md']);
const CITATION = /(?<![\w./-])([\w./-]*\w\.md)(?:#([\w-]+))?/g;
const COMMENT = /^\s*(?:\/\/|\/?\*|#)|\s\/\/ |\/\*/;

it('finds the document and the heading of every citation', () => {
  const wrong = tracked().flatMap((file) =>
    citations(file, readFileSync(join(packageRoot, file), 'utf8')).filter(
      (citation) => !exists(file, citation),
    ),
  );
  expect(wrong).toEqual([]);
});

it('notices a document or a heading that does not exist', () => {
  const text = [
    '//',
    'See docs/none.md and docs/style.md#none.\nconst name = "none.md"; //',
    'docs/style.md#words',
  ].join(' ');
  const cited = citations('src/example.ts', text);
  expect(cited).toEqual(['docs/none.md', 'docs/style.md#none', 'docs/style.md#words']);
  expect(cited.filter((citation) => !exists('src/example.ts', citation))).toEqual(cited.slice(0, 2));
});

function tracked(): string[] {
  const output = execFileSync('git', ['ls-files'], { cwd: packageRoot, encoding: 'utf8' });
  return output
    .split('\n')
    .filter((file) => /\.(ts|js|c|h|sh|md|yml|yaml|service)$|Makefile$|Dockerfile$|Caddyfile$/.test(file))
    .filter((file) => existsSync(join(packageRoot, file)));
}

/** In code only comments count: strings hold file names of examples. Code blocks of documents are examples, too. */
function citations(file: string, text: string): string[] {
  const read = file.endsWith('.md') ? text.replaceAll(/^```.*?^```/gms, '') : commentsOf(text);
  return [...read.matchAll(CITATION)]
    .map(([citation, path = '']) => (FOREIGN.has(path) ? '' : citation))
    .filter(Boolean);
}

const commentsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => COMMENT.test(line))
    .map((line) => line.replaceAll(/(['"`])[^'"`]*\.md\1/g, ''))
    .join('\n');

/** Paths are relative to the root, in documents also to the document. */
function exists(file: string, citation: string): boolean {
  const [path = '', anchor] = citation.split('#');
  const found = [path, normalize(join(dirname(file), path))].find((one) =>
    existsSync(join(packageRoot, one)),
  );
  return found !== undefined && (anchor === undefined || anchorsOf(found).has(anchor));
}

/** The anchors that a Markdown viewer gives to headings. */
function anchorsOf(document: string): Set<string> {
  const text = readFileSync(join(packageRoot, document), 'utf8');
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
