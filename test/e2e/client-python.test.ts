// The Python client as its users have it: checked by mypy, pyright and ruff, built as a wheel and an sdist, installed into empty
// environments of each Python there is, and run. The examples of docs/client-python.md are the programs.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const TOOLS = join(packageRoot, '.cache/python-client/bin');
const WHEELS = join(packageRoot, '.cache/python-client/wheels');
const SOURCE = join(packageRoot, 'clients/python');

interface Example {
  name: string;
  code: string;
  output: string;
}

function examples(): Example[] {
  const sections = readFileSync(join(packageRoot, 'docs/client-python.md'), 'utf8').split(/^## /m);
  const block = /^```python\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?/gms;
  const [, prelude = ''] = new RegExp(block).exec(sections[0] ?? '') ?? [];
  return sections.slice(1).flatMap((section) =>
    [...section.matchAll(block)].map(([, code = '', output = '']) => ({
      name: section.slice(0, section.indexOf('\n')),
      code: `${prelude}\n${code}`,
      output,
    })),
  );
}
const EXAMPLES = examples();

/** The Pythons of this machine, from 3.9 on; without pyenv, the Python of the tools. */
function pythons(): string[] {
  const folder = join(homedir(), '.pyenv/versions');
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  const found = versions.filter((name) => /^3\.(?:9|1\d)\./.test(name));
  return found.length > 0 ? found.map((name) => join(folder, name, 'bin/python')) : [join(TOOLS, 'python')];
}

describeWith(['bwrap', 'python-client'], 'the Python client', () => {
  let server: TestServer;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-test-'));
    server = await startServer({ env: { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY } });
    await run(join(TOOLS, 'python'), ['-m', 'build', '--no-isolation', '--outdir', folder, SOURCE]);
  });
  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    removeFolder(folder);
  });

  it.each([
    ['ruff', ['check', 'src', 'tools']],
    ['ruff', ['format', '--check', 'src', 'tools']],
    ['mypy', []],
    ['pyright', ['--pythonpath', join(TOOLS, 'python')]],
  ])('passes %s %j', async (name, args) => {
    const { stdout } = await run(join(TOOLS, name), args, { cwd: SOURCE });
    expect(stdout).toMatch(/passed|already formatted|no issues found|^0 errors/m);
  });

  it('has the version of the server', () => {
    const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
    expect(readFileSync(join(SOURCE, 'pyproject.toml'), 'utf8')).toContain(`\nversion = "${version}"\n`);
  });

  it.each(pythons())(
    'installs from wheel and sdist, and runs, on %s',
    async (python) => {
      for (const [n, ending] of ['.whl', '.tar.gz'].entries()) {
        const venv = join(folder, `venv-${n}-${pythons().indexOf(python)}`);
        const archive = readdirSync(folder).find((name) => name.endsWith(ending)) ?? '';
        await run(python, ['-m', 'venv', venv]);
        const offline = ['--no-index', '--find-links', WHEELS, '--disable-pip-version-check'];
        const pip = ['-m', 'pip', 'install', '--quiet', ...offline, join(folder, archive)];
        await run(join(venv, 'bin/python'), pip);
        const program = join(folder, 'first.py');
        writeFileSync(program, textOf(EXAMPLES[0]?.code ?? ''));
        const { stdout } = await run(join(venv, 'bin/python'), [program], {
          env: { ...process.env, SVC_API_KEY: API_KEY },
        });
        expect(stdout).toBe(EXAMPLES[0]?.output);
      }
    },
    180_000,
  );

  const textOf = (code: string) => code.replaceAll('http://127.0.0.1:7423', server.url);

  it.each(EXAMPLES.map((example) => [example.name, example] as const))(
    'runs the example: %s',
    async (_, { code, output }) => {
      const program = join(folder, 'example.py');
      writeFileSync(program, textOf(code));
      const { stdout, stderr } = await run(join(TOOLS, 'python'), [program], {
        env: { ...process.env, SVC_API_KEY: API_KEY, PYTHONPATH: join(SOURCE, 'src') },
      });
      expect(stderr).toBe('');
      expect(stdout).toBe(output);
    },
  );
});
