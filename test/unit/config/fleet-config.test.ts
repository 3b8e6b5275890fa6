// The configuration that `svc config init --fleet` writes: a server over PostgreSQL starts with it, and lint accepts it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { defaultFiles, productionFiles } from '../../../src/app/first-config.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { replicaConfig } from '../../../src/config/replica-config.ts';
import { lintConfig } from '../../../src/ops/lint/lint.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const URL = 'postgres://svc@db1.internal,db2.internal/svc?sslmode=verify-full';

/** Writes the files, and the URL where the configuration looks for it. */
function written(production: boolean): { folder: string; file: string } {
  const folder = temporaryFolder();
  const [file, urlFile] = [join(folder, 'svc.yaml'), join(folder, 'url')];
  writeFileSync(urlFile, URL, { mode: 0o600 });
  const files = production
    ? productionFiles(file, 'https://app.example.com', true)
    : defaultFiles(file, true);
  for (const { path, text } of files)
    writeFileSync(path, text.replace('"/etc/svc/database-url"', urlFile), { mode: 0o600 });
  return { folder, file };
}

it.each([false, true])('is loaded by a server over PostgreSQL (production: %s)', (production) => {
  const { folder, file } = written(production);
  const { config } = replicaConfig(
    loadConfig({ file, env: {}, cwd: folder, home: '/nonexistent', uid: 0, isTerminal: false }),
  );
  expect(config.database.url).toBe(URL);
  expect(readFileSync(file, 'utf8')).not.toContain('undefined');
  expect(
    Object.values(config.providers).some(
      (each) => typeof each === 'object' && 'enabled' in each && each.enabled,
    ),
  ).toBe(false);
});

it('passes lint for production', () => {
  const { folder, file } = written(true);
  const { findings } = lintConfig({ files: [file], cwd: folder, production: true, assumed: [] });
  expect(findings.map(({ rule, key, message }) => `${rule} ${key}: ${message}`)).toEqual([]);
});
