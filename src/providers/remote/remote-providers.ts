// The workers that this server calls: one line to each, one provider for each kind of theirs. A worker that moves, or
// changes its secret, is called as it is now from the next call on.

import { ServiceError } from '../../domain/errors.ts';
import { namesLoopback } from '../../domain/outgoing-address.ts';
import type { Clock, Ids, Logger } from '../../domain/ports.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import { validator } from '../../schema/validator.ts';
import { RpcRenewResult, RpcShutdownResult } from '../../schema/worker-rpc.ts';
import { guard } from '../guard.ts';
import type { OutgoingTls } from '../outgoing/connect.ts';
import { type Outgoing, outgoing } from '../outgoing/outgoing.ts';
import type { Provider, RemoteProviders, RemoteWorker } from '../provider.ts';
import { callWorker, type WorkerCall } from './call.ts';
import { workerProvider } from './worker-provider.ts';

/** The guard and the callers have shorter ones; this is for what they forget. */
const LONGEST_MS = 120_000;

export interface RemoteProvidersDeps {
  clock: Clock;
  ids: Ids;
  logger: Logger;
  allowLoopback: boolean;
  tls?: OutgoingTls | undefined;
}

interface KnownWorker {
  worker: RemoteWorker;
  outgoing: Outgoing;
  providers: Map<string, Provider>;
}

const RENEWED = validator(RpcRenewResult, 'result');
const SHUT_DOWN = validator(RpcShutdownResult, 'result');

export function remoteProviders(deps: RemoteProvidersDeps): RemoteProviders {
  const known = new Map<string, KnownWorker>();
  const knownOf = (worker: RemoteWorker): KnownWorker => {
    const before = known.get(worker.id);
    if (before?.worker.rpc_url === worker.rpc_url) return Object.assign(before, { worker });
    void before?.outgoing.close();
    const made = { worker, outgoing: connect(worker, deps), providers: new Map() };
    known.set(worker.id, made);
    return made;
  };
  const callTo =
    (target: KnownWorker) =>
    <T>(call: WorkerCall) =>
      callWorker<T>(deps, target, call);
  return {
    of: (worker, kind) => {
      const target = knownOf(worker);
      const before = target.providers.get(kind);
      if (before) return before;
      const made = guard(workerProvider(kind as ProviderKind, callTo(target), deps.clock), deps);
      target.providers.set(kind, made);
      return made;
    },
    renew: async (worker, lease, sandbox_ttl, signal) => {
      const params = { resource_id: lease.resource_id, ttl: TERM, sandbox_ttl };
      await callTo(knownOf(worker))({ method: 'worker.renew_lease', params, lease, fault: RENEWED, signal });
    },
    shutdown: async (worker, signal) => {
      // Wanted by the registry, too: a heartbeat's answer that does so no longer takes it back.
      const params = { drain: true };
      await callTo(knownOf(worker))({ method: 'worker.shutdown', params, fault: SHUT_DOWN, signal });
    },
    close: async () => {
      await Promise.all([...known.values()].map((worker) => worker.outgoing.close()));
    },
  };
}

/** As long as leases hold: the control plane gives what it gives. */
const TERM = '8760h';

/** A heartbeat says where a worker is: loopback is ours, unless it is said that it is not. */
function connect(
  { id, rpc_url }: RemoteWorker,
  { clock, allowLoopback, tls }: RemoteProvidersDeps,
): Outgoing {
  if (!allowLoopback && namesLoopback(new URL(rpc_url)))
    throw new ServiceError('unavailable', `Worker ${id} names a loopback address.`, {
      remedy: 'Set worker.advertise_url on it, or worker.allow_loopback_rpc here.',
    });
  return outgoing({
    ...{ what: `Worker ${id}`, baseUrl: rpc_url, clock, timeoutMs: LONGEST_MS, allowLoopback, tls },
  });
}
