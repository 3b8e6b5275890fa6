// A report in the forms that other programs read: SARIF against its published schema, GitHub's commands, baselines.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { lintSummary } from '../../../../src/cli/lint-view.ts';
import { withBaseline, writeBaseline } from '../../../../src/ops/lint/baseline.ts';
import { githubAnnotations, sarifLog } from '../../../../src/ops/lint/formats.ts';
import { lintConfig } from '../../../../src/ops/lint/lint.ts';
import { lintPages } from '../../../../src/ops/lint/pages.ts';
import { LINT_RULES } from '../../../../src/ops/lint/rules.ts';
import { sarifMaker } from '../../../../src/ops/sarif.ts';
import { LintReport } from '../../../../src/schema/lint.ts';
import { packageRoot } from '../../../support/servers/server.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const MAKER = sarifMaker(packageRoot, '0.1.0');
const FAULTY = 'server: {cors_allowed_origins: ["*"]}\ndatabase: {path: svc.db}\n';

function lint(text: string, file = 'svc.yaml') {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, file), text, { mode: 0o600 });
  return lintConfig({ files: [file], cwd, production: true, assumed: [] });
}

/** The schema is written for an older draft; what it says is the same in the newer one. */
const checkSarif = (() => {
  const text = readFileSync(join(packageRoot, 'fixtures/sarif-2.1.0.schema.json'), 'utf8');
  const { $schema, id, ...schema } = JSON.parse(text);
  return new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(schema);
})();
const sarifErrors = (log: unknown) => (checkSarif(log) ? [] : checkSarif.errors);

it.each([
  ['findings', FAULTY],
  ['none', ''],
  ['a file that is not a configuration', 'server: [\n'],
])('SARIF of %s is valid', (_, text) => {
  expect(sarifErrors(sarifLog(lint(text), MAKER))).toEqual([]);
});

it('the schema of SARIF refuses an invalid log', () => {
  const log = JSON.parse(JSON.stringify(sarifLog(lint(FAULTY), MAKER)));
  log.runs[0].results[0].level = 'awful';
  expect(sarifErrors(log)).not.toEqual([]);
});

it('SARIF has every rule, each finding with its position, and known ones as suppressed', () => {
  const report = lint(FAULTY, 'my file.yaml');
  const known = {
    ...report,
    findings: report.findings.map((finding) => ({ ...finding, known: finding.rule === 'SVC201' })),
  };
  const { runs } = JSON.parse(JSON.stringify(sarifLog(known, MAKER)));
  expect(runs[0].tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(
    LINT_RULES.map(({ id }) => id),
  );
  const wildcard = runs[0].results.find(({ ruleId }: { ruleId: string }) => ruleId === 'SVC201');
  expect(wildcard).toMatchObject({
    level: 'error',
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: 'my%20file.yaml' },
          region: { startLine: 1, startColumn: 33, endColumn: 36 },
        },
      },
    ],
    suppressions: [{ kind: 'external' }],
  });
  expect(LINT_RULES[wildcard.ruleIndex]?.id).toBe('SVC201');
});

it('rules of SARIF differ in level and severity, and each links to its page', () => {
  for (const production of [false, true]) {
    const report = { ...lint(FAULTY), production };
    const { runs } = JSON.parse(JSON.stringify(sarifLog(report, MAKER)));
    const { rules } = runs[0].tool.driver;
    const distinct = (of: (rule: SarifRule) => unknown) => new Set(rules.map(of)).size;
    expect(distinct(({ defaultConfiguration }) => defaultConfiguration.level)).toBe(2);
    expect(distinct(({ properties }) => properties['security-severity'])).toBeGreaterThan(3);
    for (const { id, helpUri } of rules as SarifRule[]) {
      expect(helpUri).toMatch(/^file:\/\//);
      expect(readFileSync(new URL(helpUri), 'utf8')).toContain(`# ${id}: `);
    }
  }
});

interface SarifRule {
  id: string;
  helpUri: string;
  defaultConfiguration: { level: string };
  properties: Record<string, unknown>;
}

it('GitHub reads one command for each finding, with any content', () => {
  const [first, ...rest] = githubAnnotations(
    lint('server: {cors_allowed_origins: ["http://a%0A::error::b"]}\n', 'a,b:c.yaml'),
  );
  expect(first).toMatch(/^::error file=a%2Cb%3Ac\.yaml,line=1,col=1,title=SVC\d{3}::/);
  const origin = rest.find((line) => line.includes('title=SVC203'));
  expect(origin).toMatch(
    /,endColumn=\d+,title=SVC203::The origin http:\/\/a%250A::error::b uses plain http\. [^\n]+$/,
  );
});

it('the report fits its schema', () => {
  const check = new Ajv({ strict: false }).compile(LintReport);
  expect(check(lint(FAULTY)) || check.errors).toBe(true);
  expect(check(lint('server: [')) || check.errors).toBe(true);
});

it('a baseline makes its findings known, and counts those that are fixed', () => {
  const path = join(temporaryFolder(), 'baseline.json');
  const report = lint(FAULTY);
  writeBaseline(report, path);
  expect(withBaseline(report, path)).toMatchObject({
    errors: 0,
    warnings: 0,
    known: report.findings.length,
    mended: 0,
  });
  const other = withBaseline(lint('server: {cors_allowed_origins: ["*"], allow_insecure: true}\n'), path);
  expect(other.findings.filter(({ known }) => !known).map(({ rule }) => rule)).toEqual(['SVC204']);
  expect(other).toMatchObject({ errors: 1, mended: 1 });
  expect(lintSummary(other)).toMatch(
    /1 error, no warnings, \d+ known from the baseline, 1 of the baseline fixed: write the baseline again/,
  );
  expect(readFileSync(path, 'utf8')).not.toContain('svc.db');
});

it('a baseline does not accept a file that is not a configuration', () => {
  const path = join(temporaryFolder(), 'baseline.json');
  const broken = lint('server: [');
  writeBaseline(broken, path);
  expect(withBaseline(broken, path)).toMatchObject({ errors: broken.errors, known: 0 });
});

it('a new baseline overwrites only a baseline', () => {
  const path = join(temporaryFolder(), 'baseline.json');
  writeBaseline(lint(FAULTY), path);
  writeBaseline(lint(''), path);
  writeFileSync(path, '{"mine": 1}');
  expect(() => writeBaseline(lint(''), path)).toThrow('The file exists and is not a baseline.');
  expect(readFileSync(path, 'utf8')).toBe('{"mine": 1}');
  expect(() => withBaseline(lint(''), path)).toThrow('not a baseline');
  expect(() => withBaseline(lint(''), '/dev/zero')).toThrow('not a regular file');
  expect(() => withBaseline(lint(''), '/nowhere')).toThrow('could not be read');
  expect(() => writeBaseline(lint(''), '/nowhere/baseline.json')).toThrow('could not be written');
  expect(statSync(path).size).toBe(11);
});

it('each rule has a page, and the index names all', () => {
  const pages = lintPages();
  expect(pages).toHaveLength(LINT_RULES.length + 1);
  for (const { id } of LINT_RULES) expect(pages[0]?.text).toContain(`[${id}](${id}.md)`);
});
