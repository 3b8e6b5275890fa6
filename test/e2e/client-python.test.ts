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

/** The Pythons of this machine, from 3.9 on, oldest first; without pyenv, the Python of the tools. */
function pythons(): string[] {
  const folder = join(homedir(), '.pyenv/versions');
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  const minor = (name: string) => Number(name.split('.')[1]);
  const found = versions
    .filter((name) => /^3\.(?:9|1\d)\./.test(name))
    .sort((one, other) => minor(one) - minor(other));
  return found.length > 0 ? found.map((name) => join(folder, name, 'bin/python')) : [join(TOOLS, 'python')];
}

const PYTHONS = pythons();

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

  /** The client installed into an empty environment, without a network. `pip` is that of the tools, which is there already. */
  async function installed(python: string, ending: string): Promise<string> {
    const venv = await mkdtemp(join(folder, 'venv-'));
    await run(python, ['-m', 'venv', '--without-pip', venv]);
    const program = join(venv, 'bin/python');
    const archive = readdirSync(folder).find((name) => name.endsWith(ending)) ?? '';
    const offline = ['--no-index', '--find-links', WHEELS, '--no-compile', '--disable-pip-version-check'];
    await run(join(TOOLS, 'pip'), [
      '--python',
      program,
      'install',
      '--quiet',
      ...offline,
      join(folder, archive),
    ]);
    return program;
  }

  async function runFirst(program: string): Promise<void> {
    const [first] = EXAMPLES;
    const file = join(folder, 'first.py');
    writeFileSync(file, textOf(first?.code ?? ''));
    const env = { ...process.env, SVC_API_KEY: API_KEY };
    expect((await run(program, [file], { env })).stdout).toBe(first?.output);
  }

  it.each(PYTHONS)('installs from the wheel and runs on %s', async (python) => {
    await runFirst(await installed(python, '.whl'));
  });

  it('installs from the sdist and runs on the oldest Python', async () => {
    await runFirst(await installed(PYTHONS[0] ?? '', '.tar.gz'));
  });

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
