// The packed release installed on a machine without a compiler: the binding of SQLite comes prebuilt from a mirror.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startNpmMirror } from '../support/hosts/npm-mirror.ts';
import { removeFolder } from '../support/remove.ts';
import { packageRoot } from '../support/servers/server.ts';

const run = promisify(execFile);
/** All that an installation finds: neither a compiler, nor make, nor Python. */
const PROGRAMS = ['env', 'node', 'sh'];

describe('the release on a machine without a compiler', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  let tarball: string;

  beforeAll(async () => {
    mkdirSync(join(folder, 'bin'));
    for (const name of PROGRAMS) {
      const { stdout } = await run('sh', ['-c', `command -v ${name}`]);
      symlinkSync(stdout.trim(), join(folder, 'bin', name));
    }
    const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await run('npm', pack, { cwd: packageRoot });
    tarball = join(folder, stdout.trim());
  });
  afterAll(() => removeFolder(folder));

  /** Installs it with what `mirror` has; the place of the package. */
  async function install(mirror: string, name: string): Promise<string> {
    const home = join(folder, name);
    mkdirSync(home);
    const npm = realpathSync((await run('sh', ['-c', 'command -v npm'])).stdout.trim());
    const flags = ['--global', '--omit=dev', '--allow-scripts=better-sqlite3', '--prefix', home];
    await run(process.execPath, [npm, 'install', ...flags, '--registry', mirror, tarball], {
      cwd: home,
      env: {
        PATH: join(folder, 'bin'),
        HOME: home,
        npm_config_better_sqlite3_binary_host: `${mirror}/prebuilt`,
        npm_config_fetch_retries: '0',
        npm_config_audit: 'false',
      },
      timeout: 240_000,
    });
    return join(home, 'lib/node_modules/svc');
  }

  it('installs with the prebuilt binding of a mirror, and works', async () => {
    const mirror = await startNpmMirror({ prebuilt: true });
    try {
      const place = await install(mirror.url, 'with');
      const name = `better-sqlite3-v\\d+\\.\\d+\\.\\d+-node-v${process.versions.modules}-linux-${process.arch}`;
      expect(mirror.prebuilt).toEqual([expect.stringMatching(new RegExp(`^/v[\\d.]+/${name}\\.tar\\.gz$`))]);
      const database = join(folder, 'svc.db');
      const svc = [join(place, 'bin/svc.js')];
      const { stdout } = await run(process.execPath, [...svc, '--version']);
      expect(stdout).toMatch(/^svc\//);
      // No database is there; that is found out by the binding.
      await expect(run(process.execPath, [...svc, 'db', 'verify', database])).rejects.toMatchObject({
        code: 4,
      });
      const open = `const Sqlite = require('better-sqlite3'); new Sqlite(':memory:').prepare('SELECT 1').get()`;
      await run(process.execPath, ['-e', open], { cwd: place });
    } finally {
      await mirror.close();
    }
  });

  it('does not install without a prebuilt binding and a compiler', async () => {
    const mirror = await startNpmMirror({ prebuilt: false });
    try {
      await expect(install(mirror.url, 'without')).rejects.toThrow(/node-gyp|gyp ERR|Python/);
      expect(mirror.prebuilt).toHaveLength(1);
    } finally {
      await mirror.close();
    }
  });
});
