// What rules may look at, made from a configuration as it was read.
import type { FoundFile } from '../../config/config-file.ts';
import { valueAt } from '../../config/flag-layer.ts';
import type { ConfigReading } from '../../config/load.ts';
import type { Config } from '../../schema/config.ts';
import { inSecretMap, SECRET_MAPS, SECRET_PATHS } from '../../schema/config-keys.ts';
import type { KnownSecret, LintFacts } from './rule.ts';

export interface Reading {
  production: boolean;
  /** Key paths. */
  assumed: readonly string[];
}

export function factsOf(
  files: readonly FoundFile[],
  { config, written }: ConfigReading,
  { production, assumed }: Reading,
): LintFacts {
  return {
    config,
    production,
    files: files.map(({ name, mode }) => ({ file: name, mode, inlineSecrets: secretsIn(written.get(name)) })),
    secrets: knownSecrets(config).filter(({ key }) => !assumed.includes(key)),
  };
}

const secretsIn = (paths: Iterable<string> = []) =>
  [...paths].filter((path) => SECRET_PATHS.includes(path) || inSecretMap(path));

function knownSecrets(config: Config): KnownSecret[] {
  const texts = SECRET_PATHS.map((key) => ({ key, secret: valueAt(config, key) }));
  const ofMaps = SECRET_MAPS.flatMap((map) =>
    Object.entries(valueAt(config, map) ?? {}).map(([name, secret]) => ({ key: `${map}.${name}`, secret })),
  );
  return [...texts, ...ofMaps].filter((each): each is KnownSecret => typeof each.secret === 'string');
}
