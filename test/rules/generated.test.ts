// Generated files are committed; this regenerates them in memory and compares.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { reliabilityPage } from '../../proof/page.ts';
import { readResults } from '../../proof/results.ts';
import { jsonEscapes } from '../../scripts/json-escapes.js';
import { generatedFiles } from '../../src/app/generated-files.ts';
import { packageRoot } from '../support/servers/server.ts';

const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8');
const files = [
  ...generatedFiles(JSON.parse(read('oclif.manifest.json')), JSON.parse(read('package.json')).version),
  { path: 'docs/reliability.md', text: reliabilityPage(readResults()) },
  await jsonEscapes(packageRoot),
];

it.each(files.map(({ path, text }) => [path, text] as const))(
  '%s is current (npm run generate)',
  (path, text) => {
    expect(existsSync(join(packageRoot, path))).toBe(true);
    expect(read(path)).toBe(text);
  },
);

it.each(['man', 'docs/lint'])('%s contains no stale page', (folder) => {
  const wanted = new Set(files.map(({ path }) => path));
  const names = readdirSync(join(packageRoot, folder));
  expect(names.filter((name) => !wanted.has(`${folder}/${name}`))).toEqual([]);
});

it('has every page installed by npm', () => {
  const pages = files.map(({ path }) => path).filter((path) => path.startsWith('man/'));
  expect(JSON.parse(read('package.json')).man).toEqual(pages.sort());
});
