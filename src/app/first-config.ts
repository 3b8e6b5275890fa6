// Makes the files of `svc config init`: a configuration and, for production, the keys that it refers to.
import { basename } from 'node:path';
import { fleetConfig, productionConfig } from '../docgen/production-config.ts';
import { sampleConfig } from '../docgen/sample-config.ts';
import { realRandom } from '../host/random.ts';

export interface FirstFile {
  path: string;
  text: string;
}

const KEY_BYTES = 32;

/** A configuration with every key at its default; `fleet`: of a server over PostgreSQL. */
export function defaultFiles(output: string, fleet = false): FirstFile[] {
  return [{ path: output, text: fleet ? fleetConfig() : sampleConfig() }];
}

/** Ends with the configuration, so that it exists only if all other files do. */
export function productionFiles(output: string, origin: string, fleet = false): FirstFile[] {
  const stem = output.replace(/\.ya?ml$/, '');
  const [apiKey, adminKey] = [`${stem}.api_key`, `${stem}.admin_api_key`] as const;
  const names = { apiKeyFile: basename(apiKey), adminKeyFile: basename(adminKey) };
  // Servers of one database seal what they store with one key, which none of them can make for the others.
  const secretsKey = fleet ? [`${stem}.secrets_key`] : [];
  const [secretsKeyFile] = secretsKey.map((path) => basename(path));
  return [
    { path: apiKey, text: freshKey() },
    { path: adminKey, text: freshKey() },
    ...secretsKey.map((path) => ({ path, text: freshKey() })),
    {
      path: output,
      text: productionConfig({ fleet, origin, ...names, ...(secretsKeyFile && { secretsKeyFile }) }),
    },
  ];
}

const freshKey = () => `${realRandom().bytes(KEY_BYTES).toString('base64url')}\n`;
