// The remote worker over the parts that app/worker.ts picks.
import { Sessions, type SessionsDeps } from '../agent/sessions.ts';
import { ServiceError } from '../domain/errors.ts';
import { leaseTermMs } from '../domain/lease.ts';
import type { MachineImages } from '../domain/machine-images.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { Egress, EgressDeps } from '../egress/egress.ts';
import type { ServerTls } from '../http/framework.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { WorkerJournal } from '../store/seam/worker-journal.ts';
import type { ControlLink, HeartbeatAnswer } from './control-link.ts';
import type { WorkerCredential } from './credential.ts';
import { Draining } from './draining.ts';
import { refOf } from './ending.ts';
import { type HeartbeatParts, heartbeats, sendHeartbeat, type WorkerFacts } from './heartbeats.ts';
import { type RpcServer, rpcServer } from './rpc-server.ts';
import { sweep } from './sweep.ts';
import { watchHeld } from './watch.ts';
import { WorkerEgress, type WorkerEgressDeps } from './worker-egress.ts';
import { WorkerImages } from './worker-images.ts';
import { unaborted, type WorkerParts, type WorkerRuntime } from './worker-parts.ts';
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
  /** What opens connections of sandboxes; absent while `egress.enabled` is false. */
  egressParts?: EgressParts | undefined;
  /** The address to serve calls on; absent if the worker accepts none. */
  serve?: Serve | undefined;
  /** Runs before each heartbeat and applies a changed credential or certificate. Never rejects. */
  refresh?(calls: Pick<RpcServer, 'secure'> | undefined): Promise<void>;
}

export interface EgressParts extends Pick<WorkerEgressDeps, 'own' | 'conceal'> {
  open(hooks: Pick<EgressDeps, 'clock' | 'random' | 'onEvent'>): Egress;
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
  const beats = heartbeats({ parts: beating(parts), facts, intervalMs: heartbeatMs, random, before });
  parts.draining.onChange = () => beats.soon();
  beats.start();
  let closed: Promise<void> | undefined;
  const close = async (graceMs: number) => {
    beats.stop();
    parts.draining.stop();
    await Promise.all([
      sendHeartbeat({ parts: beating(parts), facts }).catch(() => undefined),
      server?.close(graceMs),
    ]);
    for (const { abort } of parts.sandboxes.living()) abort?.abort(stopping());
    await watch.stop();
    await parts.egress?.closeAll();
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

const beating = (parts: WorkerParts) => ({ ...parts, holdsEgress: parts.egress !== undefined });

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
  const egress = egressOf(deps, { sandboxes: held, sessions });
  return { ...deps, sandboxes: held, sessions, egress, images, draining: new Draining() };
}

function egressOf(
  { egressParts: given, clock, random, logger }: WorkerDeps,
  parts: Pick<WorkerParts, 'sandboxes' | 'sessions'>,
): WorkerEgress | undefined {
  if (!given) return undefined;
  const egress = given.open({ clock, random, onEvent: (event) => made.noted(event) });
  const { own, conceal } = given;
  const session = (id: string) => {
    const record = parts.sandboxes.find(id)?.record;
    return record?.state === 'running' ? parts.sessions.acquire(refOf(record), unaborted()) : undefined;
  };
  const made: WorkerEgress = new WorkerEgress({ egress, own, conceal, session, clock, logger });
  return made;
}
