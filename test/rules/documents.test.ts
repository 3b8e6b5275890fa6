// Every block of every document is followed by a test or says why it cannot be, and every link leads somewhere, in the
// package that npm makes too.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintConfig } from '../../src/ops/lint/lint.ts';
import { LINT_RULES } from '../../src/ops/lint/rules.ts';
import { SECRET_PATHS } from '../../src/schema/config-keys.ts';
import { type Block, blocksOf, documents, isCommands } from '../support/checks/document-blocks.ts';
import { FOLLOWED, FOLLOWED_ON_HOSTS, READERS } from '../support/checks/document-readers.ts';
import { promtool } from '../support/checks/promtool.ts';
import { itWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** More would be an excuse. */
const MOST_NOT_RUN = 10;
const MARKDOWN = documents();
const BLOCKS = MARKDOWN.flatMap((document) => blocksOf(document));
const read = (path: string) => readFileSync(join(packageRoot, path), 'utf8');

describe('the blocks of the documents', () => {
  it('are run or read by a test', () => {
    expect(BLOCKS.length).toBeGreaterThan(100);
    expect(BLOCKS.flatMap(strangeness)).toEqual([]);
  });

  it('are exempt from tests at most ten times, each with a reason', () => {
    const marked = BLOCKS.filter(({ notRun }) => notRun !== undefined);
    expect(marked.filter((block) => !isCommands(block))).toEqual([]);
    expect(marked.length).toBeLessThanOrEqual(MOST_NOT_RUN);
  });

  it('are reported when no test covers them', () => {
    const blocks = blocksOf('x.md', '```\nsvc serve\n```\n```bash\ntrue\n```\n```console\n$ svc\n```\n');
    expect(blocks.flatMap(strangeness)).toHaveLength(3);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether a test follows a block, by its language. */
const FOLLOWS: Record<string, (block: Block) => boolean> = {
  console: ({ document, notRun, host }) =>
    notRun !== undefined || (host === undefined ? FOLLOWED : FOLLOWED_ON_HOSTS).includes(document),
  sh: ({ document, notRun }) => notRun !== undefined || FOLLOWED.includes(document),
  text: ({ text }) => !/^[$#] /m.test(text),
  ts: ({ document }) => document === 'docs/client.md',
  python: ({ document }) => document === 'docs/client-python.md',
  js: ({ document }) => document === 'docs/previews.md',
  json: ({ text }) => isJson(text) || text.trimEnd().split('\n').every(isJson),
  yaml: () => true,
};

/** What keeps a block from being followed; none when nothing does. */
function strangeness(block: Block): string[] {
  const { document, line, language } = block;
  return FOLLOWS[language]?.(block)
    ? []
    : [`${document}:${line} is a block of \`${language}\` that no test follows`];
}

it('a document that tests divide by prompt has a test for each prompt', () => {
  const halves = READERS.filter(({ prompt }) => prompt !== undefined);
  for (const { document, prompt } of halves)
    expect(halves.some((other) => other.document === document && other.prompt !== prompt)).toBe(true);
});

const YAML = BLOCKS.filter((block) => block.language === 'yaml' && !isCommands(block));

it.each(
  YAML.filter(({ text }) => !text.startsWith('scrape_configs:')).map(
    (block) => [`${block.document}:${block.line}`, block.text] as const,
  ),
)('%s is a configuration', (_, text) => {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'svc.yaml'), text, { mode: 0o600 });
  const assumed = SECRET_PATHS.filter((path) => text.includes(`${path.split('.').at(-1)}_file:`));
  const report = lintConfig({ files: ['svc.yaml'], cwd, production: false, assumed });
  expect(report.usable).toBe(true);
  expect(report.findings.filter(({ rule }) => rule.startsWith('SVC0'))).toEqual([]);
});

itWith(['promtool'], 'docs/metrics.md holds a configuration of Prometheus', () => {
  const [block] = YAML.filter(({ document }) => document === 'docs/metrics.md');
  // Versions before 2.55 know no headers.
  const text = block?.text.replace(/ +http_headers:\n.*\n/, '') ?? '';
  const file = join(temporaryFolder(), 'prometheus.yml');
  writeFileSync(file, text);
  expect(promtool(['check', 'config', '--syntax-only', file])).toMatchObject({ code: 0 });
});

it('documents give the correct number of lint rules', () => {
  for (const document of MARKDOWN.filter((name) => name !== 'CHANGELOG.md'))
    for (const [words, count] of read(document).matchAll(/\b(\d+) rules\b/g))
      expect([document, words, Number(count)]).toEqual([document, words, LINT_RULES.length]);
});

describe('links', () => {
  const shipped = new Set(packed());

  it('of every document lead to a file of the project', () => {
    const broken = MARKDOWN.flatMap((document) =>
      linksOf(document).filter((path) => !existsSync(join(packageRoot, path))),
    );
    expect(broken).toEqual([]);
  });

  it('of every packed document lead to a packed file', () => {
    const inside = [...shipped].filter((path) => path.endsWith('.md'));
    expect(inside.length).toBeGreaterThan(80);
    const missing = inside.flatMap((document) =>
      linksOf(document)
        .filter((path) => !isPacked(path, shipped))
        .map((path) => `${document} links ${path}`),
    );
    expect(missing).toEqual([]);
  });
});

function linksOf(document: string): string[] {
  return [...read(document).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => normalize(join(dirname(document), target)));
}

const isPacked = (path: string, files: ReadonlySet<string>) =>
  files.has(path) || [...files].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));

/** What `npm pack` puts into the package, as npm itself says. */
function packed(): string[] {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent'];
  const said = JSON.parse(execFileSync('npm', args, { cwd: packageRoot, encoding: 'utf8' })) as object;
  const [one] = Object.values(said) as { files: { path: string }[] }[];
  return one?.files.map(({ path }) => path) ?? [];
}
