// The remote worker over the parts that app/worker.ts picks.
import { Sessions, type SessionsDeps } from '../agent/sessions.ts';
import { ServiceError } from '../domain/errors.ts';
import { leaseTermMs } from '../domain/lease.ts';
import type { MachineImages } from '../domain/machine-images.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { ServerTls } from '../http/framework.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { WorkerJournal } from '../store/seam/worker-journal.ts';
import type { ControlLink, HeartbeatAnswer } from './control-link.ts';
import type { WorkerCredential } from './credential.ts';
import { Draining } from './draining.ts';
import { type HeartbeatParts, heartbeats, sendHeartbeat, type WorkerFacts } from './heartbeats.ts';
import { type RpcServer, rpcServer } from './rpc-server.ts';
import { sweep } from './sweep.ts';
import { watchHeld } from './watch.ts';
import { WorkerImages } from './worker-images.ts';
import type { WorkerParts, WorkerRuntime } from './worker-parts.ts';
import { WorkerSandboxes } from './worker-sandboxes.ts';

interface WorkerDeps {
  id: string;
  credential: WorkerCredential;
  link: ControlLink;
  providers: ProviderSet;
  journal: WorkerJournal;
  clock: Clock;
  ids: Ids;
  random: Random;
  logger: Logger;
  heartbeatMs: number;
  maxSandboxes: number;
  /** Whether control planes may open sessions. */
  sessionsAllowed: boolean;
  /** The image store; absent where no provider runs its images. */
  imageStore?: MachineImages | undefined;
  facts: Omit<WorkerFacts, 'rpcUrl'>;
  /** The address to serve calls on; absent if the worker accepts none. */
  serve?: Serve | undefined;
  /** Runs before each heartbeat and applies a changed credential or certificate. Never rejects. */
  refresh?(calls: Pick<RpcServer, 'secure'> | undefined): Promise<void>;
}

export interface Serve {
  host: string;
  /** The port; 0 picks a free one. */
  port: number;
  tls?: ServerTls | undefined;
  /** Returns the URL to advertise for the listening port. */
  rpcUrl(port: number): string;
}

export interface RunningWorker {
  /** The URL for calls. */
  rpcUrl: string | undefined;
  /**
   * Announces the drain, accepts no more calls, and waits at most `graceMs` for those in flight. Sandboxes keep
   * running. Idempotent.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Sends one heartbeat and changes nothing, also while a worker with this id runs. Rejects as the control plane refuses.
 */
export function heartbeatOnce(
  parts: Omit<HeartbeatParts, 'draining'>,
  facts: WorkerFacts,
): Promise<HeartbeatAnswer> {
  return sendHeartbeat({ parts: { ...parts, draining: new Draining() }, facts });
}

/**
 * Recovers what an earlier run left, then listens, then sends heartbeats. An unreachable control plane is not a
 * failure; an unusable listen address is `unavailable`.
 */
export async function startWorker(deps: WorkerDeps): Promise<RunningWorker> {
  const { random, heartbeatMs, serve, ids } = deps;
  const parts = partsOf(deps);
  await parts.sandboxes.load();
  // Comes first, so that expired sandboxes end while a provider is slow to list. Each sandbox has its lock.
  const watch = watchHeld(parts);
  await sweep(parts);
  const server = serve && rpcServer({ parts, ids, address: serve, tls: serve.tls });
  const port = await server?.listen().catch(async (error: unknown) => {
    await watch.stop();
    throw error;
  });
  const rpcUrl = port === undefined ? undefined : serve?.rpcUrl(port);
  const facts = { ...deps.facts, rpcUrl: rpcUrl ?? '' };
  const before = async () => deps.refresh?.(server);
  const beats = heartbeats({ parts, facts, intervalMs: heartbeatMs, random, before });
  parts.draining.onChange = () => beats.soon();
  beats.start();
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number) => {
    beats.stop();
    parts.draining.stop();
    await Promise.all([sendHeartbeat({ parts, facts }).catch(() => undefined), server?.close(graceMs)]);
    for (const { abort } of parts.sandboxes.living()) abort?.abort(stopping());
    await watch.stop();
    await parts.sandboxes.lock.idle();
    parts.sessions.closeAll();
  };
  return {
    rpcUrl,
    close: (graceMs) => {
      closed ??= close(graceMs);
      return closed;
    },
  };
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The worker is stopping.');
}

type WorkerAttach = SessionsDeps<WorkerRuntime>['attach'];

function partsOf(deps: WorkerDeps): WorkerParts {
  const { journal, clock, heartbeatMs, providers } = deps;
  const held = new WorkerSandboxes({ journal, clock, termMs: leaseTermMs(heartbeatMs) });
  const attach: WorkerAttach = (runtime, signal) => providers.get(runtime.provider).attach(runtime, signal);
  const sessions = new Sessions({ clock, attach });
  const images = deps.imageStore && new WorkerImages(deps.imageStore, clock);
  return { ...deps, sandboxes: held, sessions, images, draining: new Draining() };
}
