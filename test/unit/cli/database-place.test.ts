// How a flag names a database: a file, a URL, or a file with the URL.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { placeOf } from '../../../src/cli/database-place.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const URL = 'postgres://svc:a-secret-word@db1/svc';

function fileWith(text: string, mode = 0o600): string {
  const path = join(temporaryFolder(), 'url');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

it('tells files from URLs, and reads a URL from the file after @', () => {
  expect(placeOf('/var/lib/svc.db')).toEqual({ kind: 'file', path: '/var/lib/svc.db' });
  expect(placeOf(URL)).toEqual({ kind: 'url', url: URL });
  const path = fileWith(`${URL}\n`);
  expect(placeOf(`@${path}`)).toEqual({ kind: 'url', url: URL, urlFile: path });
});

it.each([
  ['a missing file', () => '/nonexistent/url'],
  ['a file that everyone can read', () => fileWith(URL, 0o644)],
  ['a file without a URL', () => fileWith('a-secret-word')],
])('refuses %s without its content', (_, path) => {
  expect(() => placeOf(`@${path()}`)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  try {
    placeOf(`@${path()}`);
  } catch (error) {
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('a-secret-word');
  }
});
