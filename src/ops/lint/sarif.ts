// A lint report as SARIF 2.1.0, which code scanning services read. Findings of the baseline are there, as suppressed.
import type { LintFinding, LintReport } from '../../schema/lint.ts';
import { type LintRule, levelOf, TOPICS } from './rule.ts';
import { LINT_RULES } from './rules.ts';

export type Json = string | number | boolean | Json[] | { [name: string]: Json };

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';

/** From 0 to 10, as scanners sort by it. */
const SEVERITY = { error: '8.0', warning: '5.0', off: '2.0' } as const;

/** One log with one run. `version` is that of svc. */
export function sarifLog(report: LintReport, version: string): Json {
  const driver = {
    name: 'svc config lint',
    version,
    semanticVersion: version,
    rules: LINT_RULES.map((rule) => descriptor(rule, report.production)),
  };
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: { driver },
        columnKind: 'utf16CodeUnits',
        invocations: [{ executionSuccessful: report.usable }],
        results: report.findings.map((finding) => resultOf(finding)),
      },
    ],
  };
}

function descriptor(rule: LintRule, production: boolean): Json {
  const level = levelOf(rule, production);
  const markdown = `${rule.why}\n\n${rule.mend}\n\n\`\`\`yaml\n${rule.example}\`\`\`\n`;
  return {
    id: rule.id,
    shortDescription: { text: rule.title },
    fullDescription: { text: rule.why },
    help: { text: `${rule.why} ${rule.mend}`, markdown },
    defaultConfiguration: level === 'off' ? { enabled: false } : { level },
    properties: { 'security-severity': SEVERITY[level], tags: ['security', TOPICS[rule.topic]] },
  };
}

function resultOf(finding: LintFinding): Json {
  const { rule, level, message, remedy, file, line, column, end_column, fingerprint, known } = finding;
  const region = {
    startLine: line,
    startColumn: column,
    ...(end_column !== undefined && { endColumn: end_column }),
  };
  return {
    ruleId: rule,
    ruleIndex: LINT_RULES.findIndex(({ id }) => id === rule),
    level,
    message: { text: `${message} ${remedy}` },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region } }],
    partialFingerprints: { primaryLocationLineHash: fingerprint },
    ...(known && { suppressions: [{ kind: 'external', justification: 'In the baseline.' }] }),
  };
}

/** A relative path stays one, so that a scanner finds it in the repository. */
function uriOf(file: string): string {
  const path = file
    .replace(/^(?:\.\/)+/, '')
    .split('/')
    .map(encodeURIComponent)
    .join('/');
  return path.startsWith('/') ? `file://${path}` : path;
}
