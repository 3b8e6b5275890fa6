// The policy of a sandbox as its gate applies it: all layers in the order in which they narrow.
import { gatePorts } from '../../domain/egress/gate-ports.ts';
import {
  egressLayer,
  egressLimits,
  privateRanges,
  ruleOptions,
  serverLayer,
} from '../../domain/egress/layers.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { AppliedEgress } from '../../egress/egress.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressCeiling, SandboxEgress } from '../../schema/egress.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Runtime } from './runtimes.ts';

/** A row with its policy. */
export type GatedSandbox = Runtime & Pick<SandboxRecord, 'owner_id'> & { egress: SandboxEgress };

/** Allows nothing: it has no layer. */
export const CUT_OFF: AppliedEgress = {
  layers: [],
  isPermittedPrivate: () => false,
  max_connections: 1,
  rate: 0,
  max_bytes: 0,
  credentials: [],
  log: 'denied',
};

/** Whether this server holds a gate for the row. */
export function isGated(row: SandboxRecord): row is SandboxRecord & { egress: SandboxEgress } {
  const { egress, worker_id, state } = row;
  return egress !== undefined && worker_id === LOCAL_WORKER && (state === 'running' || state === 'unhealthy');
}

/** The layers in the order in which they narrow. Throws `bad_request` for an invalid rule. */
export function appliedEgress(
  config: EgressConfig,
  { mode, template, spawn }: SandboxEgress,
  {
    ceiling,
    credentials = [],
  }: { ceiling?: EgressCeiling | undefined; credentials?: AppliedEgress['credentials'] } = {},
): AppliedEgress {
  const options = ruleOptions(config);
  const layers = [
    serverLayer(config),
    // What was stored under a setting that allowed wide rules still holds.
    ...(ceiling ? [egressLayer('owner', ceiling, { ...options, wideAllowed: true })] : []),
    ...(template ? [egressLayer('template', template, { ...options, wideAllowed: true })] : []),
    ...(spawn ? [egressLayer('spawn', spawn, { ...options, wideAllowed: true })] : []),
  ];
  const bounds = [ceiling, template, spawn].filter((policy) => policy !== undefined);
  return {
    layers,
    isPermittedPrivate: privateRanges(config),
    ...egressLimits(bounds),
    credentials,
    log: spawn?.log ?? template?.log ?? 'denied',
    ...(mode === 'gate' && { ports: gatePorts(layers, [template?.ports, spawn?.ports]).ports }),
  };
}
