// `@svc-sandbox/client` as its users have it: packed, unpacked into a project of its own beside the packages it names and nothing
// else, type-checked strictly under NodeNext, and run. The examples of docs/client.md are the programs.
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import ts from 'typescript';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
/** What a program that uses the client gets beside it, and what only the compiler wants. */
const PACKAGES = ['undici', 'ws'];
const TYPE_PACKAGES = ['@types/node', 'undici-types'];
const COMPILER = {
  module: 'nodenext',
  target: 'es2023',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node'],
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
};

/** Mistakes that types which could not be resolved would let through. */
const SAMPLE = `
import { Client, type ExecLine, type ReadFile, Sandbox, type SandboxRecord, ServiceError } from '@svc-sandbox/client';
const client = new Client({ server: 'http://127.0.0.1:1' });
export const made: Promise<Sandbox> = client.create({ ttl: '5m' }, { timeoutMs: 1, signal: AbortSignal.timeout(1) });
export const spawned: Promise<SandboxRecord> = client.spawn({ ttl: '5m' });
export const lines: AsyncIterable<ExecLine> = client.execStream('sb-1', { command: 'true' });
export const file: Promise<ReadFile> = client.files.open('sb-1', '/x');
export const code: 'not_found' | undefined = new ServiceError('not_found', '').code === 'not_found' ? 'not_found' : undefined;
export const codeOf = (line: ExecLine): number | undefined => (line.stream === 'exit' ? line.exit_code : undefined);
// @ts-expect-error output has no exit code
export const wrong = (line: ExecLine): number => (line.stream === 'stdout' ? line.exit_code : 0);
// @ts-expect-error no such field
client.spawn({ image: 'x', memory: 1 });
// @ts-expect-error a text
client.exec('sb-1', { command: 1 });
// @ts-expect-error text in the answer
export const id: Promise<number> = client.get('sb-1').then((sandbox) => sandbox.id);
// @ts-expect-error not a code
export const other: boolean = new ServiceError('nope', '') === undefined;
// @ts-expect-error no such event
client.openExec('sb-1', { command: 'cat' }).then(async (s) => { for await (const e of s.events()) e.type === 'x'; });
`;

interface Example {
  name: string;
  code: string;
  output: string;
}

/** The first block of the document stands before every other; what an example prints is the block after it. */
function examples(): Example[] {
  const text = readFileSync(join(packageRoot, 'docs/client.md'), 'utf8');
  const sections = text.split(/^## /m);
  const block = /^```ts\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?/gms;
  const [, prelude = ''] = new RegExp(block).exec(sections[0] ?? '') ?? [];
  return sections.slice(1).flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n'));
    return [...section.matchAll(block)].map(([, code = '', output = ''], n) => ({
      name: n === 0 ? title : `${title}, ${n + 1}`,
      code: `${prelude}\n${code}`,
      output,
    }));
  });
}

const EXAMPLES = examples();

describeWith(['bwrap'], 'the client package', () => {
  let server: TestServer;
  let project: string;
  const place = (n: number, extension: string) => join(project, `example-${n}.${extension}`);

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'svc-test-'));
    await install(project);
    const auth = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY };
    server = await startServer({ env: { ...auth, SVC_SERVER_PREVIEW_DOMAIN: 'localhost' } });
    for (const [n, { code }] of EXAMPLES.entries())
      writeFileSync(place(n, 'mts'), code.replace('http://127.0.0.1:7423', server.url));
    writeFileSync(join(project, 'sample.mts'), SAMPLE);
  });
  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    removeFolder(project);
  });

  it('has types that a strict NodeNext program can use', () => {
    expect(typeFaults(project)).toEqual([]);
  });

  it('has every field of the API description in its types', () => {
    const folder = join(project, 'node_modules/@svc-sandbox/client/dist/types');
    const texts = readdirSync(join(folder, 'schema')).map((name) =>
      readFileSync(join(folder, 'schema', name), 'utf8'),
    );
    const types = texts.join('\n');
    const { components } = JSON.parse(readFileSync(join(packageRoot, 'docs/openapi.json'), 'utf8'));
    const fields = Object.values(components.schemas as Record<string, { properties?: object }>).flatMap(
      ({ properties = {} }) => Object.keys(properties),
    );
    expect(fields.length).toBeGreaterThan(200);
    expect(fields.filter((name) => !new RegExp(`^ *"?${name}"?\\??:`, 'm').test(types))).toEqual([]);
    expect(types).not.toMatch(/typebox|Static</);
  });

  it('loads only undici and ws, and no code of the service', async () => {
    const wanted = readdirSync(join(project, 'node_modules/@svc-sandbox/client/dist'))
      .filter((name) => name.endsWith('.js'))
      .flatMap((name) => importsOf(join(project, 'node_modules/@svc-sandbox/client/dist', name)))
      .filter((name) => !name.startsWith('node:') && !name.startsWith('./'));
    expect([...new Set(wanted)].sort()).toEqual(PACKAGES);
    const { stdout } = await run(
      process.execPath,
      ['-e', "const { Client } = require('@svc-sandbox/client'); console.log(typeof Client)"],
      { cwd: project },
    );
    expect(stdout).toBe('function\n');
  });

  it('installs without running or compiling anything, at the version of the server', () => {
    const packages = ['@svc-sandbox/client', ...PACKAGES].map((name) =>
      JSON.parse(readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8')),
    );
    const own = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
    expect(packages[0].version).toBe(own.version);
    expect(Object.entries(packages[0].dependencies)).toEqual(
      PACKAGES.map((name) => [name, own.dependencies[name]]),
    );
    for (const { scripts = {}, gypfile, dependencies = {} } of packages.slice(1)) {
      expect(gypfile).toBeUndefined();
      expect(dependencies).toEqual({});
      for (const name of ['preinstall', 'install', 'postinstall']) expect(scripts).not.toHaveProperty(name);
    }
  });

  it('has an example for every noun', () => {
    expect(EXAMPLES.length).toBeGreaterThanOrEqual(10);
  });

  it.each(EXAMPLES.map((example, n) => [example.name, n, example.output] as const))(
    'runs the example: %s',
    async (_, n, output) => {
      await build({
        entryPoints: [place(n, 'mts')],
        outfile: place(n, 'mjs'),
        format: 'esm',
        target: 'node20',
      });
      const { stdout, stderr } = await run(process.execPath, [place(n, 'mjs')], {
        cwd: project,
        env: { ...process.env, SVC_API_KEY: API_KEY },
        timeout: 120_000,
      });
      expect(stderr).toBe('');
      expect(stdout).toBe(output);
    },
  );
});

/** Packs the package as it would be published, and lays it and what it names into `project`. */
async function install(project: string): Promise<void> {
  const { stdout } = await run(
    'npm',
    ['pack', '--ignore-scripts', '--silent', '--pack-destination', project],
    { cwd: join(packageRoot, 'clients/typescript') },
  );
  const installed = join(project, 'node_modules/@svc-sandbox/client');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['xzf', join(project, stdout.trim()), '-C', installed, '--strip-components', '1']);
  for (const name of [...PACKAGES, ...TYPE_PACKAGES]) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(packageRoot, 'node_modules', name), link);
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
}

function typeFaults(project: string): string[] {
  const names = readdirSync(project).filter((name) => name.endsWith('.mts'));
  const { options } = ts.convertCompilerOptionsFromJson(COMPILER, project);
  const program = ts.createProgram(
    names.map((name) => join(project, name)),
    options,
  );
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0;
    return `${file?.fileName.slice(project.length)}:${line} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

function importsOf(file: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(file, 'utf8'));
  return importedFiles.map(({ fileName }) => fileName);
}
