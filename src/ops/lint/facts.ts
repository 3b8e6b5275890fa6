// What rules may look at, made from a configuration as it was read.
import type { FoundFile } from '../../config/config-file.ts';
import { valueAt } from '../../config/flag-layer.ts';
import type { ConfigReading } from '../../config/load.ts';
import { inSecretMap, SECRET_PATHS } from '../../schema/config-keys.ts';
import type { LintFacts } from './rule.ts';

export interface Reading {
  production: boolean;
  /** Key paths. */
  assumed: readonly string[];
}

export function factsOf(
  { mode }: FoundFile,
  { config, written }: ConfigReading,
  { production, assumed }: Reading,
): LintFacts {
  return {
    config,
    production,
    mode,
    inlineSecrets: [...written].filter((path) => SECRET_PATHS.includes(path) || inSecretMap(path)),
    knownSecret: (path) =>
      assumed.includes(path) ? undefined : (valueAt(config, path) as string | undefined),
  };
}
