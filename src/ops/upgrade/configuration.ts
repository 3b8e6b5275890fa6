// The configuration of the service, judged for production before an upgrade. Secrets that this environment gives are
// there for the judgement, too.

import { CONFIG_KEYS, isSecretText } from '../../schema/config-keys.ts';
import type { LintReport } from '../../schema/lint.ts';
import { lintConfig } from '../lint/lint.ts';

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
