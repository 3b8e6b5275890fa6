// The programs in examples/, as their reader runs them: installed clients, a real server, no changes. TypeScript is type-checked
// and compiled for the oldest Node; the two languages of an example print the same.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const EXAMPLES = join(packageRoot, 'examples');
const PYTHON = join(packageRoot, '.cache/python-client/bin/python');
const OUTPUTS: Record<string, string> = {
  agent: 'after 2 runs: 5050\n',
  ci: '== test\n1 test passed\n== package\npackaged\nartifact: app.tar.gz\n',
  notebook: '12.57\nZeroDivisionError: division by zero\nradius is still 2\n',
  'dev-server': '<h1>first</h1>\n<h1>second</h1>\n',
};
const NAMES = Object.keys(OUTPUTS);

const pythonName = (name: string) => `${name.replace('-', '_')}.py`;

it('every example is in both languages, and no other file', () => {
  const expected = NAMES.flatMap((name) => [`${name}.ts`, pythonName(name)]);
  expect(readdirSync(EXAMPLES).sort()).toEqual([...expected, 'README.md'].sort());
});

describeWith(['bwrap', 'python-client'], 'the examples', () => {
  let server: TestServer;
  let project: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'svc-test-'));
    mkdirSync(join(project, 'node_modules/@svc-sandbox'), { recursive: true });
    for (const name of ['undici', 'ws', '@types', 'undici-types'])
      symlinkSync(join(packageRoot, 'node_modules', name), join(project, 'node_modules', name));
    symlinkSync(join(packageRoot, 'clients/typescript'), join(project, 'node_modules/@svc-sandbox/client'));
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    for (const name of NAMES)
      writeFileSync(join(project, `${name}.ts`), readFileSync(join(EXAMPLES, `${name}.ts`)));
    server = await startServer({ env: { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY } });
    env = {
      ...process.env,
      SVC_SERVER: server.url,
      SVC_API_KEY: API_KEY,
      PYTHONPATH: join(packageRoot, 'clients/python/src'),
    };
  });
  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    removeFolder(project);
  });

  it('pass a strict type check', async () => {
    const tsc = join(packageRoot, 'node_modules/typescript-native/bin/tsc');
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    const files = NAMES.map((name) => join(project, `${name}.ts`));
    const libraries = ['--skipLibCheck', '--lib', 'es2023,esnext.disposable'];
    await run(process.execPath, [tsc, ...options, ...libraries, ...files], { cwd: project });
    await run(join(packageRoot, '.cache/python-client/bin/mypy'), ['--strict', EXAMPLES], {
      cwd: join(packageRoot, 'clients/python'),
      env: { ...env, MYPYPATH: join(packageRoot, 'clients/python/src') },
    });
  });

  it.each(NAMES)('%s prints the same in both languages', async (name) => {
    const program = join(project, `${name}.mjs`);
    const source = join(project, `${name}.ts`);
    await build({ entryPoints: [source], outfile: program, format: 'esm', target: 'node20' });
    const [typescript, python] = await Promise.all([
      run(process.execPath, [program], { env, timeout: 60_000 }),
      run(PYTHON, [join(EXAMPLES, pythonName(name))], { env, timeout: 60_000 }),
    ]);
    expect([typescript.stderr, python.stderr]).toEqual(['', '']);
    expect([typescript.stdout, python.stdout]).toEqual([OUTPUTS[name], OUTPUTS[name]]);
  });
});
