// Turns the flags of `svc serve` into the last layer of the configuration.

import type { Partially } from '../config/flag-layer.ts';
import type { Config } from '../schema/config.ts';

export interface ServeFlags {
  config?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
  provider?: string | undefined;
}

export function configLayers({ config, host, port, provider }: ServeFlags): {
  file: string | undefined;
  flags: Partially<Config>;
} {
  return {
    file: config,
    flags: {
      server: { host, port },
      providers: { default: provider as Config['providers']['default'] | undefined },
    },
  };
}
