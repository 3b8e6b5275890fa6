// What docs/performance.md says beside the figures: a meaning for every row, a reason for every miss.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MEANINGS } from '../../../bench/meanings.ts';
import { inReadme } from '../../../bench/readme-table.ts';
import { markdown, type Results } from '../../../bench/report.ts';
import { packageRoot } from '../../support/servers/server.ts';

const results = JSON.parse(readFileSync(join(packageRoot, 'bench/results.json'), 'utf8')) as Results;

it('explains every measured row to users', () => {
  for (const { id } of results.rows)
    expect([id, MEANINGS[id]?.text ?? '']).toEqual([id, expect.stringMatching(/\.$/)]);
});

it('explains every row that misses its bar', () => {
  expect(markdown(results)).not.toContain('the reason is not known yet');
});

it('has the rows of the README', () => {
  const readme = readFileSync(join(packageRoot, 'README.md'), 'utf8');
  expect(inReadme(readme, results)).toBe(readme);
  const changed = results.rows.map((row) => (row.id === 'P7' ? { ...row, ratio: 9.87 } : row));
  expect(inReadme(readme, { rows: changed })).toContain('| 9.87 |');
  expect(inReadme('no marks', results)).toBe('no marks');
});

it('is the page that is committed', () => {
  expect(readFileSync(join(packageRoot, 'docs/performance.md'), 'utf8')).toBe(markdown(results));
});
