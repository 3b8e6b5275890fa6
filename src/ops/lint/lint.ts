// `svc config lint`: a file judged by every rule, or several as the layers that they are. Reads them and the secret files
// they name, nothing else: no environment, no network, no provider; and never writes. What it says holds no secret.

import { type FoundFile, findConfigFiles } from '../../config/config-file.ts';
import { valueAt } from '../../config/flag-layer.ts';
import { type ConfigReading, readConfig } from '../../config/load.ts';
import { processConfigFiles } from '../../config/process-config.ts';
import { type Problem, problemAt } from '../../config/setting.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Config } from '../../schema/config.ts';
import {
  CONFIG_KEYS,
  inSecretMap,
  isSecretText,
  SECRET_FILE_SUFFIX,
  SECRET_MAPS,
  SECRET_PATHS,
} from '../../schema/config-keys.ts';
import { envName } from '../../schema/config-walk.ts';
import type { LintFinding, LintReport } from '../../schema/lint.ts';
import { findings } from './finding.ts';
import { type KnownSecret, type LintFacts, type LintRule, levelOf } from './rule.ts';
import { CONTRADICTION, SECRET_FILE, UNUSABLE } from './rules/file.ts';
import { LINT_RULES } from './rules.ts';

/** Findings of one rule; a list may have thousands of entries that are all wrong in one way. */
const MOST_OF_ONE = 100;

export interface LintRequest {
  /** As the operator named them, strongest first; a relative path counts from `cwd`. */
  files: readonly string[];
  cwd: string;
  production: boolean;
  /** Secrets that are given where the service runs, as keys or variables. */
  assumed: readonly string[];
}

/** What is judged where no file is named: those that a server here would read, else the one that is looked for first. */
export function filesHere(): string[] {
  const here = processConfigFiles();
  return here.length > 0 ? here : ['svc.yaml'];
}

/**
 * The report on a file, the same for the same bytes. Throws `bad_request` when the file does not exist, is not a
 * regular file or is too large, or when `assumed` names a key that is not a secret.
 */
export function lintConfig(request: LintRequest): LintReport {
  const assumed = assumedPaths(request.assumed);
  const files = openFiles(request);
  const reading = readAll(request, assumed);
  const found = judge(files, reading, { ...request, assumed: reading.assumed });
  return {
    file: files.map(({ name }) => name).join(', '),
    production: request.production,
    usable: reading.unusable.length === 0,
    errors: found.filter(({ level }) => level === 'error').length,
    warnings: found.filter(({ level }) => level === 'warning').length,
    known: 0,
    mended: 0,
    findings: found,
  };
}

function openFiles({ files, cwd }: LintRequest): FoundFile[] {
  return findConfigFiles(files, { cwd, home: '' }).map((outcome) => {
    if (!('fault' in outcome)) return outcome;
    const { name, fault } = outcome;
    throw new ServiceError('bad_request', problemAt({ layer: 'file', name }, `the file ${fault}`).message, {
      remedy: 'Name a configuration file with --file, or create one with `svc config init`.',
    });
  });
}

interface FullReading extends ConfigReading {
  assumed: readonly string[];
  brokenFiles: Problem[];
}

/** Secrets whose files cannot be used count as given elsewhere, so that one fault does not look like several. */
function readAll({ files, cwd }: LintRequest, assumed: readonly string[]): FullReading {
  // As the service runs in production: defaults depend on the user, findings must not.
  const read = (more: readonly string[]) =>
    readConfig({ file: files, cwd, home: '/root', uid: 0, isTerminal: false, env: {}, assumed: more });
  const first = read(assumed);
  const broken = first.secretFiles.flatMap(({ key }) =>
    key === undefined ? [] : [key.slice(0, -SECRET_FILE_SUFFIX.length)],
  );
  const all = [...assumed, ...broken];
  return { ...(broken.length > 0 ? read(all) : first), assumed: all, brokenFiles: first.secretFiles };
}

function judge(files: readonly FoundFile[], reading: FullReading, request: LintRequest): LintFinding[] {
  const { production } = request;
  const make = findings(files, reading);
  const problemFindings = (rule: LintRule, problems: readonly Problem[]) =>
    problems.map((problem) => make.ofProblem(rule, problem));
  const facts = factsOf(files, reading, request);
  // Of a file that was read in part nobody knows what is not set.
  const rules = reading.isCut ? [] : LINT_RULES;
  const judged = rules.flatMap((rule) => {
    const level = levelOf(rule, production);
    if (level === 'off') return [];
    const broken = rule.check(facts).filter(({ key = rule.key }) => !reading.misfits.has(key));
    const reported = broken.slice(0, MOST_OF_ONE);
    return reported.map((finding) => make.ofRule(rule, level, finding));
  });
  const all = [
    ...problemFindings(UNUSABLE, reading.unusable),
    ...problemFindings(SECRET_FILE, reading.brokenFiles),
    ...problemFindings(CONTRADICTION, reading.contradictions),
    ...judged,
  ];
  const order = ({ file }: LintFinding) => files.findIndex(({ name }) => name === file);
  return all.sort(
    (a, b) => order(a) - order(b) || a.line - b.line || a.column - b.column || (a.rule < b.rule ? -1 : 1),
  );
}

/** The key paths of keys or variables. Throws `bad_request` for a name that is not a secret. */
function assumedPaths(names: readonly string[]): string[] {
  return names.map((name) => {
    const path = SECRET_PATHS.find((each) => each === name || envName(each) === name);
    if (path === undefined)
      throw new ServiceError('bad_request', '--assume-env does not name a secret of the configuration.', {
        remedy: `Use one of ${SECRET_PATHS.map(envName).join(', ')}.`,
      });
    return path;
  });
}

// The configuration of the service, judged for production before an upgrade. Secrets that this environment gives are
// there for the judgement, too.
export interface ConfigurationRequest {
  /** As the operator named them, strongest first. */
  files: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Throws `bad_request` when there is no such file. */
export function judgeConfiguration({ files, cwd, env }: ConfigurationRequest): LintReport {
  const assumed = CONFIG_KEYS.filter((key) => isSecretText(key) && env[key.env]).map((key) => key.env);
  return lintConfig({ files, cwd, production: true, assumed });
}

export interface Reading {
  production: boolean;
  /** Key paths. */
  assumed: readonly string[];
}

export function factsOf(
  files: readonly FoundFile[],
  { config, sources, written }: ConfigReading,
  { production, assumed }: Reading,
): LintFacts {
  return {
    config,
    sources,
    production,
    files: files.map(({ name, mode }) => ({ file: name, mode, inlineSecrets: secretsIn(written.get(name)) })),
    secrets: knownSecrets(config).filter(({ key }) => !assumed.includes(key)),
  };
}

const secretsIn = (paths: Iterable<string> = []) =>
  [...paths].filter((path) => SECRET_PATHS.includes(path) || inSecretMap(path));

function knownSecrets(config: Config): KnownSecret[] {
  // A URL is an address: it has no strength of a key.
  const keys = SECRET_PATHS.filter((key) => key !== 'database.url');
  const texts = keys.map((key) => ({ key, secret: valueAt(config, key) }));
  const ofMaps = SECRET_MAPS.flatMap((map) =>
    Object.entries(valueAt(config, map) ?? {}).map(([name, secret]) => ({ key: `${map}.${name}`, secret })),
  );
  return [...texts, ...ofMaps].filter((each): each is KnownSecret => typeof each.secret === 'string');
}
