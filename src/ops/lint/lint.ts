// `svc config lint`: one file judged by every rule. Reads that file and the secret files it names, nothing else: no
// environment, no network, no provider; and never writes. What it says holds no secret.
import { type FoundFile, findConfigFile } from '../../config/config-file.ts';
import { type ConfigReading, readConfig } from '../../config/load.ts';
import { type Problem, problemAt } from '../../config/setting.ts';
import { ServiceError } from '../../domain/errors.ts';
import { SECRET_FILE_SUFFIX } from '../../schema/config-keys.ts';
import type { LintFinding, LintReport } from '../../schema/lint.ts';
import { assumedPaths } from './assumed.ts';
import { factsOf } from './facts.ts';
import { findings } from './finding.ts';
import { type LintRule, levelOf } from './rule.ts';
import { CONTRADICTION, SECRET_FILE, UNUSABLE } from './rules/file.ts';
import { LINT_RULES } from './rules.ts';

/** Findings of one rule; a list may have thousands of entries that are all wrong in one way. */
const MOST_OF_ONE = 100;

export interface LintRequest {
  /** As the operator named it; a relative path counts from `cwd`. */
  file: string;
  cwd: string;
  production: boolean;
  /** Secrets that are given where the service runs, as keys or variables. */
  assumed: readonly string[];
}

/**
 * The report on a file, the same for the same bytes. Throws `bad_request` when there is no such file, it is no regular
 * one or too large, or when `assumed` names what is no secret.
 */
export function lintConfig(request: LintRequest): LintReport {
  const assumed = assumedPaths(request.assumed);
  const file = openFile(request);
  const reading = readAll(request, assumed);
  const found = judge(file, reading, { ...request, assumed: reading.assumed });
  return {
    file: file.name,
    production: request.production,
    usable: reading.unusable.length === 0,
    errors: found.filter(({ level }) => level === 'error').length,
    warnings: found.filter(({ level }) => level === 'warning').length,
    known: 0,
    mended: 0,
    findings: found,
  };
}

function openFile({ file, cwd }: LintRequest): FoundFile {
  const outcome = findConfigFile(file, { cwd, home: '' });
  if (!('fault' in outcome) && outcome.found) return outcome.found;
  const words = 'fault' in outcome ? outcome.fault : 'is not there';
  throw new ServiceError(
    'bad_request',
    problemAt({ layer: 'file', name: file }, `the file ${words}`).message,
    {
      remedy: 'Name a configuration file by --file; `svc config init` writes one.',
    },
  );
}

interface WholeReading extends ConfigReading {
  assumed: readonly string[];
  brokenFiles: Problem[];
}

/** Secrets whose files cannot be used count as given elsewhere, so that one fault does not look like several. */
function readAll({ file, cwd }: LintRequest, assumed: readonly string[]): WholeReading {
  // As the service runs in production: defaults depend on the user, findings must not.
  const read = (more: readonly string[]) =>
    readConfig({ file, cwd, home: '/root', uid: 0, isTerminal: false, env: {}, assumed: more });
  const first = read(assumed);
  const broken = first.secretFiles.flatMap(({ key }) =>
    key === undefined ? [] : [key.slice(0, -SECRET_FILE_SUFFIX.length)],
  );
  const all = [...assumed, ...broken];
  return { ...(broken.length > 0 ? read(all) : first), assumed: all, brokenFiles: first.secretFiles };
}

function judge(file: FoundFile, reading: WholeReading, request: LintRequest): LintFinding[] {
  const { production } = request;
  const make = findings(file, reading);
  const told = (rule: LintRule, problems: readonly Problem[]) =>
    problems.map((problem) => make.ofProblem(rule, problem));
  if (reading.unusable.length > 0) return told(UNUSABLE, reading.unusable);
  const facts = factsOf(file, reading, request);
  const judged = LINT_RULES.flatMap((rule) => {
    const level = levelOf(rule, production);
    if (level === 'off') return [];
    const faults = rule.check(facts).slice(0, MOST_OF_ONE);
    return faults.map((fault) => make.ofFault(rule, level, fault));
  });
  const all = [
    ...told(SECRET_FILE, reading.brokenFiles),
    ...told(CONTRADICTION, reading.contradictions),
    ...judged,
  ];
  return all.sort((a, b) => a.line - b.line || a.column - b.column || (a.rule < b.rule ? -1 : 1));
}
