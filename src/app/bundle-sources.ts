// What a support bundle is collected from, on this machine.

import type { Client } from '../client/client.ts';
import { readProcessConfig } from '../config/process-config.ts';
import type { BundleSources } from '../ops/support/sources.ts';
import { thisOperator } from './operator.ts';

export interface BundleRequest {
  /** What `--config` says. */
  config?: string | undefined;
  version: string;
  client?: Client | undefined;
  /** With the doctor's report. */
  doctor: boolean;
}

/** Never throws: a configuration that cannot be read is a reason to make a bundle. */
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
    // Loaded when it is wanted: it brings every provider with it.
    doctor: doctor ? async () => (await import('./doctor-report.ts')).doctorReport(config) : undefined,
  };
}
