// The files that `svc config init` writes: a configuration, and for production the keys that it names.
import { basename } from 'node:path';
import { productionConfig } from '../docgen/production-config.ts';
import { sampleConfig } from '../docgen/sample-config.ts';
import { realRandom } from '../host/random.ts';

export interface FirstFile {
  path: string;
  text: string;
}

const KEY_BYTES = 32;

/** Every key at its default. */
export function defaultFiles(output: string): FirstFile[] {
  return [{ path: output, text: sampleConfig() }];
}

/** The configuration comes last: once it is there, everything is. */
export function productionFiles(output: string, origin: string): FirstFile[] {
  const stem = output.replace(/\.ya?ml$/, '');
  const [apiKey, adminKey] = [`${stem}.api_key`, `${stem}.admin_api_key`] as const;
  const names = { apiKeyFile: basename(apiKey), adminKeyFile: basename(adminKey) };
  return [
    { path: apiKey, text: freshKey() },
    { path: adminKey, text: freshKey() },
    { path: output, text: productionConfig({ origin, ...names }) },
  ];
}

const freshKey = () => `${realRandom().bytes(KEY_BYTES).toString('base64url')}\n`;
