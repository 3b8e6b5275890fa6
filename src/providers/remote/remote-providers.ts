// The workers that this server calls: one HTTP client per worker, one provider per kind. A new address or secret of a
// worker takes effect with the next call.

import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import { namesLoopback } from '../../domain/outgoing-address.ts';
import type { Clock, Ids, Logger, Random } from '../../domain/ports.ts';
import type { Config } from '../../schema/config.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import { validator } from '../../schema/validator.ts';
import { RpcRenewResult, RpcShutdownResult } from '../../schema/worker-rpc.ts';
import { guard } from '../guard.ts';
import type { OutgoingTls } from '../outgoing/connect.ts';
import { type Outgoing, outgoing } from '../outgoing/outgoing.ts';
import type { Provider, RemoteProviders, RemoteWorker } from '../provider.ts';
import { callWorker, type WorkerCall } from './call.ts';
import { openRemoteEgress, openRemoteSession } from './session.ts';
import { workerImages } from './worker-images.ts';
import { type OpenWorkerEgress, type OpenWorkerSession, workerProvider } from './worker-provider.ts';

/** A last resort: the guard and the callers have shorter timeouts. */
const LONGEST_MS = 120_000;

interface RemoteProvidersDeps {
  clock: Clock;
  ids: Ids;
  random: Random;
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
      const open: OpenWorkerSession = (wanted, signal) => openRemoteSession(deps, target, wanted, signal);
      const openEgress: OpenWorkerEgress = (wanted, signal) => openRemoteEgress(deps, target, wanted, signal);
      const ways = { call: callTo(target), open, openEgress };
      const which = { worker_id: worker.id, kind: kind as ProviderKind };
      const made = guard(workerProvider(which, ways, deps.clock), { ...deps, of: `of worker ${worker.id}` });
      target.providers.set(kind, made);
      return made;
    },
    images: (worker) => {
      const target = knownOf(worker);
      return workerImages({ ...deps, target, call: callTo(target) });
    },
    renew: async (worker, lease, sandbox_ttl, signal) => {
      const params = { resource_id: lease.resource_id, ttl: TERM, sandbox_ttl };
      await callTo(knownOf(worker))({ method: 'worker.renew_lease', params, lease, fault: RENEWED, signal });
    },
    shutdown: async (worker, signal) => {
      // The registry records the drain as well; the reply to a later heartbeat can cancel it.
      const params = { drain: true };
      await callTo(knownOf(worker))({ method: 'worker.shutdown', params, fault: SHUT_DOWN, signal });
    },
    close: async () => {
      await Promise.all([...known.values()].map((worker) => worker.outgoing.close()));
    },
  };
}

/** Longer than every lease: the control plane sets the actual term. */
const TERM = '8760h';

/** Heartbeats report the address of a worker. A loopback address would reach this host, so it needs to be allowed. */
function connect(
  { id, rpc_url }: RemoteWorker,
  { clock, allowLoopback, tls }: RemoteProvidersDeps,
): Outgoing {
  if (!allowLoopback && namesLoopback(new URL(rpc_url)))
    throw new ServiceError('unavailable', `Worker ${id} names a loopback address.`, {
      remedy: 'Set worker.advertise_url on it, or worker.allow_loopback_rpc here.',
    });
  const what = `Worker ${id}`;
  return outgoing({ what, baseUrl: rpc_url, clock, timeoutMs: LONGEST_MS, allowLoopback, tls });
}

/** Undefined if no file is configured. Throws `bad_request` for an unreadable file. */
export async function workerTls(files: Config['worker']['tls']): Promise<OutgoingTls | undefined> {
  const [ca, cert, key] = await Promise.all([
    pem('ca_file', files.ca_file),
    pem('cert_file', files.cert_file),
    pem('key_file', files.key_file),
  ]);
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
}

async function pem(name: string, path: string): Promise<string | undefined> {
  if (path === '') return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new ServiceError('bad_request', `The file of worker.tls.${name} cannot be read.`, { cause });
  }
}
