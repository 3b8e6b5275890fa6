// Collects the sources of a support bundle on this machine.

import type { Client } from '../client/client.ts';
import { readProcessConfig } from '../config/process-config.ts';
import type { BundleSources } from '../ops/support/sections.ts';
import { thisOperator } from './operator.ts';

export interface BundleRequest {
  /** The value of `--config`. */
  config?: string | undefined;
  version: string;
  client?: Client | undefined;
  /** Includes the doctor's report. */
  doctor: boolean;
}

/** Never throws: an unreadable configuration is itself a reason to make a bundle. */
export function bundleSources({ config, version, client, doctor }: BundleRequest): BundleSources {
  const { clock, host } = thisOperator();
  return {
    clock,
    host,
    programVersion: version,
    env: process.env,
    cwd: process.cwd(),
    reading: readProcessConfig({ file: config }),
    client,
    // Loaded on demand because it loads every provider.
    doctor: doctor ? async () => (await import('./doctor-report.ts')).doctorReport(config) : undefined,
  };
}
