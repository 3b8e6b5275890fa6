// What a rule of `svc config lint` is: its own documentation and a check. Ids are for ever: baselines, pipelines and
// pages name them, so one that goes is not given to another.
import type { LoadedConfig } from '../../config/load.ts';
import type { Config } from '../../schema/config.ts';
import type { LintLevel } from '../../schema/lint.ts';

export const TOPICS = {
  file: 'The file',
  auth: 'Keys and callers',
  server: 'Exposure',
  rate_limit: 'Rate limits',
  database: 'Database',
  limits: 'Caps',
  container: 'Containers',
  userspace: 'Userspace',
  images: 'Images',
  egress: 'Outgoing connections',
  backends: 'Backends elsewhere',
  microvm: 'Virtual machines',
} as const;
export type Topic = keyof typeof TOPICS;

/** The input of a check: only the file, the files it refers to, and the flags of the command. */
export interface LintFacts {
  config: Config;
  /** Where each value came from. */
  sources: LoadedConfig['sources'];
  production: boolean;
  files: readonly FileFacts[];
  /** The secrets that are known here, entries of maps among them; not those that are given only where it runs. */
  secrets: readonly KnownSecret[];
}

export interface FileFacts {
  /** As it was named. */
  file: string;
  /** Its permission bits. */
  mode: number;
  /** Secret keys whose values stand in the file itself; of a map of secrets, such entries. */
  inlineSecrets: readonly string[];
}

export interface KnownSecret {
  key: string;
  secret: string;
}

/** One position where a rule is broken. */
export interface RuleFinding {
  /** The rule's own key unless given. */
  key?: string;
  /** Where it is known; else the strongest file that sets the key. */
  file?: string;
  /** The index in a list, from 0. */
  entry?: number;
  /** What is wrong here, a sentence; the rule's title unless given. Never a secret. */
  message?: string;
}

export interface LintRule {
  id: `SVC${number}`;
  topic: Topic;
  /** The key to change. */
  key: string;
  /** What is wrong, a sentence. */
  title: string;
  /** What can happen, for its page. */
  why: string;
  /** What to do, a sentence or two. */
  remedy: string;
  /** YAML that the rule has nothing against. */
  example: string;
  /** The severity where nothing is known about the environment; `off` where much is fine that is not for production. */
  level: LintLevel | 'off';
  /** What it counts as with `--production`. */
  production: LintLevel | 'off';
  check(facts: LintFacts): readonly RuleFinding[];
}

/** Rules of one topic. */
export const rulesOf = (topic: Topic, rules: readonly Omit<LintRule, 'topic'>[]): LintRule[] =>
  rules.map((rule) => ({ ...rule, topic }));

/** The rule's own words when `broken`. */
export const findingIf = (broken: boolean, fault: RuleFinding = {}): readonly RuleFinding[] =>
  broken ? [fault] : [];

/** A fault for each entry of a list that is `bad`. */
export function entryFindings(
  list: readonly string[],
  bad: (entry: string) => boolean,
  message: (entry: string) => string,
): RuleFinding[] {
  return list.flatMap((value, entry) => (bad(value) ? [{ entry, message: message(value) }] : []));
}

/** The level of a rule in this reading. */
export const levelOf = (rule: LintRule, production: boolean) => (production ? rule.production : rule.level);
