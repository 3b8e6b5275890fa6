// Every secret that this command can know: of the configuration as far as it could be read, and of its own environment.
import { CONFIG_KEYS } from '../../schema/config-keys.ts';
import type { BundleWorld } from './world.ts';

/** Of the command line's own connection; no keys of the configuration. */
const CLIENT_SECRETS = ['SVC_API_KEY'];

export function secretsOf({ reading, env }: Pick<BundleWorld, 'reading' | 'env'>): string[] {
  const names = [...CONFIG_KEYS.filter(({ secret }) => secret).map((key) => key.env), ...CLIENT_SECRETS];
  const given = names.flatMap((name) => env[name] ?? []);
  return [...new Set([...reading.secrets, ...given].filter((secret) => secret !== ''))];
}
