// The package as its users get it: packed, installed by npm under every supported Node, and served from.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OtherNode, otherNode } from '../support/hosts/node-versions.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const MINUTES = 60_000;
const MAJORS = [20, 22, 24];
const AGENTS = ['dist/agent/svc-agent-arm64', 'dist/agent/svc-agent-x64'];

interface Installed {
  node: OtherNode;
  /** Of `npm install -g`. */
  prefix: string;
}

/** A program of a user: what it prints is what its sandbox said. */
const PROGRAM = `
import { Client } from 'svc/client';
const client = new Client({ server: process.argv[2] });
const { id } = await client.spawn({ ttl: '5m' });
const { stdout } = await client.exec(id, { command: 'echo from a sandbox' });
await client.destroy(id);
process.stdout.write(stdout);
`;

/** Drops 40,000 statements, and lets the collector find them while no JavaScript runs. */
const DROPPING = `
import Sqlite from './sqlite.ts';
const db = new Sqlite(':memory:');
for (let turn = 0; turn < 20; turn++) {
  for (let i = 0; i < 2000; i++) db.prepare('SELECT ' + i);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
db.close();
`;

describeWith(['bwrap', 'aarch64-gcc', 'qemu-aarch64', 'mandoc'], 'the packed package', () => {
  let folder: string;
  let tarball: string;

  const installs = new Map<number, Promise<Installed>>();

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], {
      cwd: packageRoot,
    });
    tarball = join(folder, stdout.trim());
    for (const major of MAJORS) {
      const installed = install(tarball, major, folder);
      installed.catch(() => undefined);
      installs.set(major, installed);
    }
  }, 5 * MINUTES);
  afterAll(() => removeFolder(folder));

  it('holds the programs, both agents and the manual, and no sources', async () => {
    const { stdout } = await run('tar', ['tvzf', tarball]);
    const entries = stdout.trim().split('\n');
    const names = entries.map((line) => line.slice(line.indexOf('package/') + 'package/'.length));
    expect(names).toEqual(
      expect.arrayContaining([...AGENTS, 'LICENSE', 'README.md', 'CHANGELOG.md', 'man/svc.1', 'svc.yaml']),
    );
    expect(
      names.filter((name) => /^(src|test|commands|agent|node_modules)\/.*(?<!\.md)$|\.map$/.test(name)),
    ).toEqual([]);
    for (const agent of AGENTS) expect(entries.find((line) => line.endsWith(agent))).toMatch(/^-rwxr-xr-x/);
  });

  it('has an agent for arm64 that runs commands', async () => {
    const agent = join(folder, 'agent');
    const binary = join(packageRoot, AGENTS[0] as string);
    writeFileSync(agent, `#!/bin/sh\nexec qemu-aarch64-static ${binary} "$@"\n`, { mode: 0o755 });
    const { stderr } = await run('python3', ['test/serve_test.py', 'Execs'], {
      cwd: join(packageRoot, 'agent'),
      env: { ...process.env, AGENT: agent },
    });
    expect(stderr).toMatch(/^OK$/m);
    const { stdout: other } = await run(agent, ['--version']);
    const { stdout: own } = await run(join(packageRoot, `dist/agent/svc-agent-${process.arch}`), [
      '--version',
    ]);
    expect(other).toBe(own);
  });

  describe.each(MAJORS)('under Node %i', (major) => {
    let node: OtherNode;
    let prefix: string;
    const program = () => join(prefix, 'lib/node_modules/svc/bin/svc.js');
    const svc = (args: string[]) => run(node.executable, [program(), ...args]);

    beforeAll(async () => {
      ({ node, prefix } = (await installs.get(major)) as Installed);
    }, 15 * MINUTES);

    it('installs its command and its manual', async () => {
      const { stdout } = await svc(['--version']);
      expect(stdout).toMatch(new RegExp(`^svc/\\S+ linux-${process.arch} node-v${major}\\.`));
      const { stdout: shown } = await run('man', ['svc-serve'], {
        env: { ...process.env, MANPATH: join(prefix, 'share/man') },
      });
      expect(shown).toContain('Start the API server');
    });

    it('serves sandboxes, to its command and to a program', async () => {
      const server = await startServer({ node: node.executable, program: [program(), 'serve'] });
      try {
        const { stdout } = await svc(['sandbox', 'run', '--server', server.url, '--', 'echo', 'hello']);
        expect(stdout).toBe('hello\n');
        const file = join(prefix, 'lib/program.mjs');
        writeFileSync(file, PROGRAM);
        const said = await run(node.executable, [file, server.url]);
        expect(said.stdout).toBe('from a sandbox\n');
      } finally {
        expect(await server.stop()).toBe(0);
        removeHome(server.home);
      }
    });
  });

  it('keeps its prepared statements from the garbage collector under Node 24', async () => {
    const { node, prefix } = (await installs.get(24)) as Installed;
    const place = join(prefix, 'lib/statements');
    mkdirSync(place);
    copyFileSync(join(packageRoot, 'src/store/sqlite/sqlite.ts'), join(place, 'sqlite.ts'));
    symlinkSync(join(prefix, 'lib/node_modules/svc/node_modules'), join(place, 'node_modules'));
    writeFileSync(join(place, 'dropping.mjs'), DROPPING);
    for (let trial = 0; trial < 3; trial++) await run(node.executable, [join(place, 'dropping.mjs')]);
  });
});

async function install(tarball: string, major: number, folder: string): Promise<Installed> {
  const node = await otherNode(major, join(folder, `node-${major}`));
  const prefix = join(folder, `prefix-${major}`);
  mkdirSync(prefix);
  const npm = ['install', '-g', '--prefix', prefix, '--no-audit', '--no-fund', '--loglevel=error'];
  // SQLite compiled in a hurry: not its speed is looked at.
  const env = { ...node.env, CFLAGS: '-O0', CXXFLAGS: '-O0' };
  await run('npm', [...npm, '--allow-scripts=better-sqlite3', tarball], { env, timeout: 4 * MINUTES });
  return { node, prefix };
}
