// Configuration files: the sample and those of the lint's tests, with lines, values and bytes changed. Whatever stands in one,
// the loader and the lint end soon, agree, and say where each thing is; and the command exits as the report says.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  LINT_FORMATS,
  type LintOptions,
  lintExit,
  lintOutput,
  lintReport,
  UNUSABLE,
} from '../../src/cli/fast-path/lint.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { packageRoot } from '../../src/host/package-root.ts';
import { sarifMaker } from '../../src/ops/sarif.ts';
import type { LintFinding, LintReport } from '../../src/schema/lint.ts';
import { removeFolder } from '../../test/support/remove.ts';
import { runCli } from '../../test/support/servers/run-cli.ts';
import type { Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { anyText, anyValue, damaged } from './hostile.ts';

/** Processor time for one file; the slowest file below the size limit takes a tenth of it. */
const MOST_MS = 1000;
/** Starting a process takes as long as some dozens of files. */
const MAKER = sarifMaker('/nowhere', '0');
const ONE_BY_COMMAND = 40;
const CONTROL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;

const PIECES: readonly string[] = [
  '&a [*a]',
  '*nowhere',
  '!!js/function "x"',
  '!!binary aGVsbG8=',
  '<<: &m {port: 1}',
  '{'.repeat(300),
  '['.repeat(3000),
  '- '.repeat(2000),
  '? '.repeat(500),
  '"\\ud800"',
  '"\\x00"',
  '|\n      a\n     b',
  '>-\n',
  "'it''s",
  '%YAML 1.1\n---',
  '---\n...\n---',
  '0x7fffffffffffffff',
  '.inf',
  '2001-01-01',
  '\t',
  '\u2028',
  '\ufeff',
  `${'k'.repeat(2000)}: 1`,
  `[${'1,'.repeat(5000)}]`,
  `{${Array.from({ length: 500 }, (_, at) => `k${at}: v`)}}`,
];

export const config = { width: 1, open: openConfig };

async function openConfig() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-fuzz-'));
  const file = join(folder, 'svc.yaml');
  const bases = basesOf();
  let cases = 0;
  return {
    one: async (chance: Chance): Promise<Outcome> => {
      const bytes = fileOf(chance, chance.pick(bases));
      writeFileSync(file, bytes);
      const production = chance.oneIn(2);
      const asked: FileAsked = { file, production, assumed: [], strict: false, format: 'json' };
      const { report, fault } = inside(asked);
      const wrong = fault ?? (++cases % ONE_BY_COMMAND === 0 ? await byCommand(asked, report) : undefined);
      const text = JSON.stringify(bytes.toString().slice(0, 3000));
      return { kind: String(exitOf(asked, report)), fault: wrong && `${wrong}\n  of ${text}` };
    },
    close: async () => removeFolder(folder),
  };
}

function basesOf(): string[] {
  const fixtures = join(packageRoot(), 'fixtures/lint');
  const names = readdirSync(fixtures).filter((name) => name.endsWith('.yaml'));
  return [join(packageRoot(), 'svc.yaml'), ...names.map((name) => join(fixtures, name))].map((path) =>
    readFileSync(path, 'utf8'),
  );
}

function fileOf(chance: Chance, base: string): Buffer {
  let lines = base
    .split('\n')
    .map((line) => (chance.oneIn(3) ? line.replace(/^( *)#(?= *\w+:)/, '$1') : line));
  for (let times = chance.below(5); times > 0; times -= 1) lines = withChange(chance, lines);
  const bytes = Buffer.from(lines.join(chance.oneIn(20) ? '\r\n' : '\n'));
  return chance.oneIn(4) ? damaged(chance, bytes) : bytes;
}

function withChange(chance: Chance, lines: readonly string[]): string[] {
  const at = chance.below(lines.length);
  const line = lines[at] ?? '';
  const value = chance.oneIn(3)
    ? (JSON.stringify(anyValue(chance)) ?? '')
    : chance.pick([anyText(chance), chance.pick(PIECES)]);
  const ways: readonly (() => string[])[] = [
    () => [line.replace(/:.*/s, `: ${value}`)],
    () => [line.replace(/:.*/s, `: ${value}`)],
    () => [line.replace(/\w+:/, `${value}:`)],
    () => [line, line],
    () => [line, value],
    () => [`${' '.repeat(chance.below(8))}${line.trimStart()}`],
    () => [],
  ];
  return [...lines.slice(0, at), ...chance.pick(ways)(), ...lines.slice(at + 1)];
}

type FileAsked = LintOptions & { file: string };

/** The report and its duration; undefined where the input is not a configuration file. */
function inside(asked: FileAsked): { report: LintReport | undefined; fault: string | undefined } {
  const before = process.cpuUsage();
  const report = reportOf(asked);
  if (report) for (const format of LINT_FORMATS) lintOutput(report, { ...asked, format }, MAKER);
  const refused = loadRefusal(asked.file);
  const { user, system } = process.cpuUsage(before);
  const ms = Math.round((user + system) / 1000);
  if (ms > MOST_MS) return { report, fault: `took ${ms} ms` };
  if (refused === undefined && !report) return { report, fault: 'refused by the lint alone' };
  if (refused !== undefined && report?.errors === 0)
    return { report, fault: `refused by the loader alone: ${refused}` };
  return { report, fault: report && badReport(report, asked.file) };
}

function reportOf(asked: LintOptions): LintReport | undefined {
  try {
    return lintReport(asked);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'bad_request') return undefined;
    throw error;
  }
}

/** What the loader says against the file; undefined when it takes it. */
function loadRefusal(file: string): string | undefined {
  try {
    loadConfig({ file, cwd: '/', home: '/root', uid: 0, isTerminal: false, env: {} });
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'bad_request') throw error;
    return error.message;
  }
}

/** What is wrong with what the command says of the file. */
async function byCommand(asked: FileAsked, report: LintReport | undefined): Promise<string | undefined> {
  const more = asked.production ? ['--production'] : [];
  const { code, stdout, stderr } = await runCli(['config', 'lint', '--file', asked.file, '--json', ...more]);
  const said = `${stdout.slice(0, 300)}${stderr.slice(0, 500)}`;
  if (code !== exitOf(asked, report)) return `exit code ${code}, not ${exitOf(asked, report)}: ${said}`;
  const isSame = !report || stdout === `${lintOutput(report, asked, MAKER)}\n`;
  return isSame ? undefined : `another report than from the same file before: ${said}`;
}

const exitOf = (asked: LintOptions, report: LintReport | undefined) =>
  report ? lintExit(report, asked) : UNUSABLE;

function badReport({ usable, errors, findings }: LintReport, file: string): string | undefined {
  if (!usable && errors === 0) return 'unusable, without a reason';
  if (errors !== findings.filter(({ level }) => level === 'error').length) return 'the errors are miscounted';
  const lines = readFileSync(file, 'utf8').split(/\r?\n/);
  const wrong = findings.find((finding) => !isPlaced(finding, lines));
  if (wrong) return `not a position in the file, or not plain text: ${JSON.stringify(wrong)}`;
  return undefined;
}

function isPlaced(
  { line, column, end_column, message, source = '', key }: LintFinding,
  lines: string[],
): boolean {
  const length = lines[line - 1]?.length ?? -1;
  const isWithin = column >= 1 && column <= length + 1;
  const isEnded = end_column === undefined || (end_column >= column && end_column <= length + 1);
  return isWithin && isEnded && ![message, source, key].some((text) => CONTROL.test(text));
}
