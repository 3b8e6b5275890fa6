// Turns the flags of `svc worker` into the last layer of the configuration.
import type { Partially } from '../config/flag-layer.ts';
import type { Config } from '../schema/config.ts';

export interface WorkerFlags {
  config?: string | undefined;
  id?: string | undefined;
  'control-plane'?: string | undefined;
  'worker-token'?: string | undefined;
  'heartbeat-interval'?: string | undefined;
  listen?: string | undefined;
  advertise?: string | undefined;
}

/** Leaves out `--worker-token`: it belongs to one worker and is not part of the configuration. */
export function workerLayers(flags: WorkerFlags): { file: string | undefined; flags: Partially<Config> } {
  return {
    file: flags.config,
    flags: {
      worker: {
        id: flags.id,
        control_plane_url: flags['control-plane'],
        heartbeat_interval: flags['heartbeat-interval'],
        listen_addr: flags.listen,
        advertise_url: flags.advertise,
      },
    },
  };
}
