// Opens outgoing connections of sandboxes as the configuration says: the only file that lets them reach the network.
import { parseDuration } from '../domain/duration.ts';
import type { Egress, EgressDeps, EgressSettings } from '../egress/egress.ts';
import { openEgress } from '../egress/open-egress.ts';
import { localAddresses } from '../host/local-addresses.ts';
import type { Config } from '../schema/config.ts';
import type { EgressParts } from '../worker/worker.ts';

type Open = (hooks: Pick<EgressDeps, 'clock' | 'random' | 'onEvent'>) => Egress;

/** Undefined while `egress.enabled` is false. */
export function processEgress({ egress }: Pick<Config, 'egress'>): Open | undefined {
  const settings = egressSettings(egress);
  if (!egress.enabled) return undefined;
  return (hooks) => openEgress({ ...hooks, settings: () => settings, ownAddresses: localAddresses });
}

/** The same for the sandboxes of a worker. */
export function workerEgress({
  config,
  concealed: conceal,
}: {
  config: Pick<Config, 'egress'>;
  concealed(secret: string): () => void;
}): EgressParts | undefined {
  const open = processEgress(config);
  return open && { open, own: config.egress, conceal };
}

function egressSettings(config: Config['egress']): EgressSettings {
  const { proxy_port, max_connections, new_connections_per_minute, resolver } = config;
  return {
    proxy_port,
    max_connections,
    new_connections_per_minute,
    connect_timeout: parseDuration(config.connect_timeout, 'egress.connect_timeout'),
    idle_timeout: parseDuration(config.idle_timeout, 'egress.idle_timeout'),
    resolver: resolver.length === 0 ? 'system' : resolver,
  };
}
