// Pages of the packaged documents, for tools that explain.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import { packageRoot } from '../host/package-root.ts';
import { ERROR_CODES } from '../schema/error.ts';

const FOLDERS = { docs: 'docs', lint: 'docs/lint' } as const;
/** Pages of the documents, and of the lint rules. */
export type PageKind = keyof typeof FOLDERS;

/** Names of pages. */
export const pagesIn = (kind: PageKind): string[] =>
  readdirSync(join(packageRoot(), FOLDERS[kind]))
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.slice(0, -'.md'.length));

/** The page with this name. Throws `not_found` with the names of all pages. */
export function readPage(name: string): string {
  return pageIn(pagesIn('lint').includes(name) ? 'lint' : 'docs', name);
}

/** The same among pages of one kind. */
export function pageIn(kind: PageKind, name: string): string {
  if (pagesIn(kind).includes(name))
    return readFileSync(join(packageRoot(), FOLDERS[kind], `${name}.md`), 'utf8');
  throw new ServiceError('not_found', 'There is no such page.', {
    remedy: `Pages: ${pagesIn('docs').join(', ')}; lint rules by their id.`,
  });
}

/** The row of an error code, and the sections that it names. Throws `bad_request` for an unknown code. */
export function remediationOf(code: string): string {
  const page = readPage('remediation');
  if (!ERROR_CODES.some((one) => one === code))
    throw new ServiceError('bad_request', 'There is no such error code.', {
      remedy: `Codes: ${ERROR_CODES.join(', ')}.`,
    });
  const rows = page.split('\n').filter((line) => line.startsWith('| `') && line.includes(`\`${code}\``));
  const topics = new Set(rows.flatMap((row) => [...row.matchAll(/\(#(\w+)\)/g)].map(([, topic]) => topic)));
  const sections = page.split(/^(?=## )/m).filter((part) => topics.has(/^## (\w+)/.exec(part)?.[1] ?? ''));
  return [...rows, '', ...sections].join('\n');
}
