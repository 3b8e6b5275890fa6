// A hash of the settings that all replicas must share. Keyed, so that nobody who reads it can guess secrets.
import { createHmac } from 'node:crypto';
import { canonicalJson } from '../../domain/fingerprint.ts';
import type { Config } from '../../schema/config.ts';

const DIGITS = 16;

/** `key` is that of the database. Sections that may differ between hosts do not count. */
export function configPrint(config: Config, key: string): string {
  const { auth, audit, defaults, rate_limit, providers, pool } = config;
  const { preview_domain, preview_access, preview_scheme } = config.server;
  const shared = { auth, audit, defaults, rate_limit, providers, pool };
  return createHmac('sha256', key)
    .update(canonicalJson({ ...shared, preview_domain, preview_access, preview_scheme }))
    .digest('hex')
    .slice(0, DIGITS);
}
