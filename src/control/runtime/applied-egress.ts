// Rows with an egress policy, and the policies that allow nothing.
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { AppliedEgress } from '../../egress/egress.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
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

/** The same for a worker. */
export const cutOrder = ({ server, proxy_port, mode, authorities }: EgressOrder): EgressOrder => ({
  server: { ...server, allow: [], deny: ['*'], allow_private: [] },
  proxy_port,
  mode,
  credentials: [],
  authorities,
});

/** Whether the row has a gate now. */
export function isGated(row: SandboxRecord): row is SandboxRecord & { egress: SandboxEgress } {
  const { egress, state } = row;
  return egress !== undefined && (state === 'running' || state === 'unhealthy');
}

/** Whether the gate belongs to this server, not to a worker. */
export const isHere = ({ worker_id = LOCAL_WORKER }: Pick<Runtime, 'worker_id'>): boolean =>
  worker_id === LOCAL_WORKER;
