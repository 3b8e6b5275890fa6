// The prose of documents avoids the words of scripts/house/words.js; docs/style.md explains them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PHRASES } from '../../scripts/house/words.js';
import { documents } from '../support/checks/document-blocks.ts';
import { packageRoot } from '../support/servers/server.ts';

/** The page that lists these words, old names, and pages that other sources generate or other rules hold. */
const EXEMPT =
  /^docs\/(?:style|decisions\/renames|configuration|metrics|performance|reliability)\.md$|^docs\/lint\/|^(?:src\/providers|agent|test)\//;

it('uses no word that the style page rules out', () => {
  const found = documents()
    .filter((document) => !EXEMPT.test(document))
    .flatMap((document) => violations(document, readFileSync(join(packageRoot, document), 'utf8')));
  expect(found).toEqual([]);
});

it('notices a ruled-out word, but not in code', () => {
  const text = 'This is no URL.\n`whole`\n```text\nThe deed was told anew.\n```\n';
  expect(violations('x.md', text)).toEqual(['x.md:1 [is no] This is no URL.']);
});

/** Line numbers stay, since code is blanked and not removed. */
function violations(document: string, text: string): string[] {
  const blank = (code: string) => code.replaceAll(/[^\n]/g, '');
  const prose = text.replaceAll(/^```.*?^```/gms, blank).replaceAll(/`[^`\n]*`/g, '``');
  return prose
    .split('\n')
    .flatMap((line, at) =>
      PHRASES.filter(({ pattern }) => new RegExp(pattern.source, 'i').test(line)).map(
        ({ name }) => `${document}:${at + 1} [${name}] ${line.trim()}`,
      ),
    );
}
