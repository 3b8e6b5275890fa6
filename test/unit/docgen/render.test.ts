// Documents say what the schema and the commands say, in forms that their readers accept.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { valueAt } from '../../../src/config/flag-layer.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { EXIT_CODES } from '../../../src/docgen/exit-codes.ts';
import type { Manifest } from '../../../src/docgen/manifest.ts';
import { renderAll } from '../../../src/docgen/render.ts';
import { roffArgument, roffText } from '../../../src/docgen/roff.ts';
import { sampleConfig } from '../../../src/docgen/sample-config.ts';
import { ERROR_TABLE } from '../../../src/domain/errors.ts';
import { CONFIG_KEYS } from '../../../src/schema/config-keys.ts';

const flag = (name: string, more: object) => ({ [name]: { name, type: 'option' as const, ...more } });
const manifest: Manifest = {
  version: '1.2.3',
  commands: {
    serve: {
      id: 'serve',
      summary: 'Start the API server.',
      flags: {},
      args: {},
      examples: ['<%= config.bin %> <%= command.id %>'],
    },
    'config:explain': {
      id: 'config:explain',
      summary: 'Explain.',
      args: { key: { name: 'key', required: true, description: 'Key path.' } },
    },
    'config:init': {
      id: 'config:init',
      summary: 'Write.',
      flags: { force: { name: 'force', type: 'boolean', description: 'Overwrite.' } },
    },
    'sandbox:exec': {
      id: 'sandbox:exec',
      summary: 'Run a command in a sandbox.',
      description: ".Sh NOT A HEADING\nEnds with the command's own status; \\fB\\e back. 'quoted' – dash.",
      usage: 'sandbox exec ID [FLAGS] -- "COMMAND" \\n',
      examples: ['.br', "'tis", { command: '<%= config.bin %> x \\', description: 'y' }],
      flags: {
        ...flag('server', {
          env: 'SVC_SERVER',
          default: 'http://127.0.0.1:7423',
          helpValue: '<url>',
          description: 'Address.',
        }),
        ...flag('env', { char: 'e', multiple: true, description: '.NAME=VALUE; repeat.' }),
        ...flag('state', { options: ['a', 'Op'], required: true }),
        ...flag('secret-thing', { hidden: true }),
      },
      args: { id: { name: 'id' } },
    },
    hidden: { id: 'hidden', hidden: true },
  },
};
const files = new Map(renderAll(manifest).map(({ path, text }) => [path, text]));

it('renders each file', () => {
  expect([...files.keys()].sort()).toEqual([
    'docs/configuration.md',
    'docs/metrics.md',
    'man/svc-config-explain.1',
    'man/svc-config-init.1',
    'man/svc-sandbox-exec.1',
    'man/svc-serve.1',
    'man/svc.1',
    'man/svc.yaml.5',
    'svc.yaml',
  ]);
  expect(renderAll(structuredClone(manifest))).toEqual(renderAll(manifest));
});

it.each([0, 1000])('svc.yaml equals the defaults for uid %d', (uid) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sample-'));
  const load = () => loadConfig({ env: {}, cwd: folder, home: '/home/u', uid, isTerminal: false });
  const defaults = load();
  writeFileSync(join(folder, 'svc.yaml'), sampleConfig());
  const sampled = load();
  rmSync(folder, { recursive: true });
  expect(sampled.files.map(({ name }) => name)).toEqual(['svc.yaml']);
  expect(sampled.config).toEqual(defaults.config);
  for (const key of CONFIG_KEYS) {
    const isWritten = sampled.sources.get(key.path)?.layer === 'file';
    expect([key.path, isWritten]).toEqual([key.path, key.default !== undefined]);
  }
});

it.each(['svc.yaml', 'docs/configuration.md', 'man/svc.yaml.5'])(
  '%s names every key, variable and default',
  (path) => {
    const text = files.get(path) ?? '';
    for (const key of CONFIG_KEYS) {
      expect(text).toContain(key.path.slice(key.path.lastIndexOf('.') + 1));
      if (path !== 'docs/configuration.md') expect(text).toContain(key.env);
      if (key.secret) expect(text).toContain('_file');
      if (key.defaultText) expect(text).toContain(key.defaultText);
    }
    for (const line of text.split('\n')) expect(line).toBe(line.trimEnd());
  },
);

it('a commented-out key of svc.yaml is valid once uncommented', () => {
  const text = sampleConfig().replace('# admin_api_key: ""', 'admin_api_key: "x"');
  const folder = mkdtempSync(join(tmpdir(), 'svc-sample-'));
  writeFileSync(join(folder, 'svc.yaml'), text.replace(/# path: .*/, 'path: /x/y.db'));
  const { config } = loadConfig({ env: {}, cwd: folder, home: '/home/u', uid: 1000, isTerminal: false });
  rmSync(folder, { recursive: true });
  expect([valueAt(config, 'auth.admin_api_key'), config.database.path]).toEqual(['x', '/x/y.db']);
});

it('exit codes are those of the error table and of checks', () => {
  const codes = new Set(EXIT_CODES.map(([code]) => code));
  for (const { exit } of Object.values(ERROR_TABLE)) expect(codes).toContain(exit);
  expect(codes.size).toBe(new Set([...Object.values(ERROR_TABLE).map(({ exit }) => exit), 0, 3, 130]).size);
});

it('text never becomes a roff request', () => {
  expect(roffText(".x\n'y\n\\z é")).toBe("\\&.x\n\\&'y\n\\ez \\[u00E9]");
  expect(roffArgument('a "b" c')).toBe('"a \\(dqb\\(dq c"');
});

const hasMandoc = spawnSync('mandoc', ['-T', 'ascii', '/dev/null']).error === undefined;
it.runIf(hasMandoc).each([...files.keys()].filter((path) => path.startsWith('man/')))(
  '%s passes mandoc',
  (path) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-man-'));
    const name = join(folder, path.slice(4));
    writeFileSync(name, files.get(path) ?? '');
    const lint = spawnSync('mandoc', ['-T', 'lint', name], { encoding: 'utf8' });
    const shown = spawnSync('mandoc', ['-T', 'ascii', name], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    // The other pages are not installed here.
    expect(lint.stdout.replace(/.*referenced manual not found: Xr svc.*\n/g, '')).toBe('');
    if (!path.includes('sandbox-exec')) return;
    const text = shown.stdout.replace(/.[\b]/g, '');
    for (const part of [
      '.Sh NOT A HEADING',
      '\\fB\\e back',
      '.br',
      "'tis",
      'svc x \\',
      '--server url',
      '-e, --env',
      'SVC_SERVER',
      '"COMMAND" \\n',
    ])
      expect(text).toContain(part);
    expect(text).not.toContain('secret-thing');
  },
);
