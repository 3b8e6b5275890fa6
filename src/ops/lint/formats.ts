// A lint report as SARIF 2.1.0, which code scanning services read. Findings of the baseline are there, as suppressed.
import type { LintFinding, LintReport } from '../../schema/lint.ts';
import { type Json, type SarifMaker, sarifFrame } from '../sarif.ts';
import { type LintRule, levelOf, TOPICS } from './rule.ts';
import { LINT_RULES } from './rules.ts';

/** From 0 to 10, as scanners sort by it: by what a rule counts as in general, and with --production. */
const SEVERITY = {
  error: { error: '9.0', warning: '7.0', off: '7.0' },
  warning: { error: '8.0', warning: '5.0', off: '4.0' },
  off: { error: '7.0', warning: '3.0', off: '1.0' },
} as const;

/** One log with one run. */
export function sarifLog(report: LintReport, maker: SarifMaker): Json {
  const run = {
    name: 'svc config lint',
    rules: LINT_RULES.map((rule) => descriptor(rule, report.production, maker.docs)),
    results: report.findings.map((finding) => resultOf(finding)),
    isComplete: report.usable,
  };
  return sarifFrame(run, maker);
}

function descriptor(rule: LintRule, production: boolean, docs: string): Json {
  const level = levelOf(rule, production);
  const markdown = `${rule.why}\n\n${rule.remedy}\n\n\`\`\`yaml\n${rule.example}\`\`\`\n`;
  return {
    id: rule.id,
    shortDescription: { text: rule.title },
    fullDescription: { text: rule.why },
    helpUri: `${docs}lint/${rule.id}.md`,
    help: { text: `${rule.why} ${rule.remedy}`, markdown },
    defaultConfiguration:
      level === 'off' ? { enabled: false, level: quietLevel(rule) } : { enabled: true, level },
    properties: {
      'security-severity': SEVERITY[rule.level][rule.production],
      tags: ['security', TOPICS[rule.topic]],
    },
  };
}

/** For a rule that is off in this mode: its severity in the other one. */
const quietLevel = ({ level, production }: LintRule) =>
  [level, production].find((each) => each !== 'off') ?? 'note';

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
    ...(known && { suppressions: [{ kind: 'external', justification: 'The finding is in the baseline.' }] }),
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

/** One line for each finding that counts. Nothing of a finding can begin a command of its own. */
export function githubAnnotations({ findings }: LintReport): string[] {
  return findings
    .filter(({ known }) => !known)
    .map(({ rule, level, message, remedy, file, line, column, end_column }) => {
      const place = {
        file,
        line,
        col: column,
        ...(end_column !== undefined && { endColumn: end_column }),
        title: rule,
      };
      const properties = Object.entries(place).map(([name, value]) => `${name}=${property(String(value))}`);
      return `::${level} ${properties.join(',')}::${escaped(`${message} ${remedy}`)}`;
    });
}

const escaped = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string) => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
