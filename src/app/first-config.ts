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
  const key = (name: string): FirstFile => ({ path: `${stem}.${name}`, text: freshKey() });
  const [apiKey, adminKey] = [key('api_key'), key('admin_api_key')];
  // Servers of one database seal what they store with one key, which none of them can make for the others.
  const secretsKey = fleet ? key('secrets_key') : undefined;
  const config = productionConfig({
    fleet,
    origin,
    apiKeyFile: basename(apiKey.path),
    adminKeyFile: basename(adminKey.path),
    ...(secretsKey && { secretsKeyFile: basename(secretsKey.path) }),
  });
  return [apiKey, adminKey, ...(secretsKey ? [secretsKey] : []), { path: output, text: config }];
}

const freshKey = () => `${realRandom().bytes(KEY_BYTES).toString('base64url')}\n`;
