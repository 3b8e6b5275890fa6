// Sends heartbeats with the worker's status. Failures are retried with backoff and jitter.
import { ServiceError } from '../domain/errors.ts';
import type { Random } from '../domain/ports.ts';
import { orAfter, withTimeout } from '../domain/timeout.ts';
import { EGRESS, EGRESS_GATE, IMAGES, PULLS, SESSIONS } from '../domain/worker-capabilities.ts';
import type { Provider } from '../providers/provider.ts';
import { type Capacity, type HeartbeatBody, MOST_IMAGES, REPORTED_IMAGE } from '../schema/worker.ts';
import type { HeartbeatAnswer } from './control-link.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';

const DEADLINE_MS = 10_000;
const FIRST_RETRY_MS = 1_000;
const JITTER = 0.2;
/** How long a heartbeat waits for the first try of a gate. */
const GATE_MS = 5_000;

/** The facts that do not change while the worker runs. */
export interface WorkerFacts {
  hostname: string;
  version: string;
  capacity: Capacity;
  labels: Record<string, string>;
  /** The URL for calls; empty if the worker accepts none, undefined to leave the known one unchanged. */
  rpcUrl: string | undefined;
}

/** The parts that a heartbeat reports on. */
export type HeartbeatParts = Pick<
  WorkerParts,
  'providers' | 'link' | 'draining' | 'sessionsAllowed' | 'images' | 'clock' | 'logger'
> & {
  /** Whether sandboxes can have egress policies here; absent: no. */
  holdsEgress?: boolean | undefined;
};

interface HeartbeatDeps {
  parts: HeartbeatParts;
  facts: WorkerFacts;
  intervalMs: number;
  random: Random;
  /** Awaited before each heartbeat; does not reject. */
  before?(): Promise<void>;
}

export interface Heartbeats {
  /** Sends one at once, then at each interval. */
  start(): void;
  /** Sends the next heartbeat now. */
  soon(): void;
  stop(): void;
}

/** Sends one heartbeat. Rejects with the control plane's refusal, or with `timeout` after 10 s. */
export async function sendHeartbeat({
  parts,
  facts,
}: Pick<HeartbeatDeps, 'parts' | 'facts'>): Promise<HeartbeatAnswer> {
  const { clock, link, draining } = parts;
  const body = await bodyOf(parts, facts);
  const error = () => new ServiceError('timeout', 'The control plane did not answer in time.');
  const answer = await withTimeout({ clock, ms: DEADLINE_MS, error }, (signal) =>
    link.heartbeat(body, signal),
  );
  draining.update(answer.drain);
  return answer;
}

export function heartbeats(deps: HeartbeatDeps): Heartbeats {
  const { clock, logger } = deps.parts;
  const stopped = new AbortController();
  let wake = new AbortController();
  let failures = 0;
  const once = async () => {
    try {
      await deps.before?.();
      await sendHeartbeat(deps);
      if (failures > 0) logger.info({ failures }, 'The control plane responds again.');
      failures = 0;
    } catch (err) {
      failures++;
      if (failures === 1) logger.warn({ err }, 'Heartbeat failed; retrying.');
      else logger.debug({ err, failures }, 'Heartbeat failed; retrying.');
    }
  };
  const run = async () => {
    while (!stopped.signal.aborted) {
      wake = new AbortController();
      await once();
      const signal = AbortSignal.any([wake.signal, stopped.signal]);
      await clock.sleep(pauseMs(deps, failures), signal).catch(() => undefined);
    }
  };
  return { start: () => void run(), soon: () => wake.abort(), stop: () => stopped.abort() };
}

/** Returns the interval with 20 % jitter; after failures 1 s, 2 s, 4 s … up to the interval. */
function pauseMs({ intervalMs, random }: HeartbeatDeps, failures: number): number {
  const ms =
    failures === 0 ? intervalMs : Math.min(intervalMs, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20));
  const share = random.bytes(2).readUInt16BE() / 0xffff;
  return ms * (1 - JITTER + 2 * JITTER * share);
}

async function bodyOf(
  parts: HeartbeatParts,
  { hostname, version, capacity, labels, rpcUrl }: WorkerFacts,
): Promise<HeartbeatBody> {
  const probed = await Promise.all(
    parts.providers.all.map(async (provider) => ({ provider, report: await provider.probe(unaborted()) })),
  );
  const healthy = probed.filter(({ report }) => report.healthy).map(({ provider }) => provider);
  return {
    hostname,
    version,
    capacity,
    labels,
    status: parts.draining.isDraining ? 'draining' : 'online',
    providers: healthy.map(({ kind }) => kind),
    capabilities: [...capabilitiesOf(healthy, parts), ...(await egressOf(healthy, parts))],
    images: await imagesOf(healthy),
    ...(rpcUrl !== undefined && { rpc_url: rpcUrl }),
  };
}

/** A provider that does not list its images in time has none now: they only make a worker preferred. */
async function imagesOf(providers: readonly Provider[]): Promise<string[]> {
  const lists = await Promise.all(
    providers.map(async (each) => (await each.presentImages?.(unaborted()).catch(() => [])) ?? []),
  );
  const shape = new RegExp(REPORTED_IMAGE);
  const names = lists.flat().filter((name) => shape.test(name));
  return [...new Set(names)].slice(0, MOST_IMAGES);
}

/** A gate is tried once. One that takes longer is reported later. */
async function egressOf(
  providers: readonly Provider[],
  { holdsEgress = false, sessionsAllowed, clock }: HeartbeatParts,
): Promise<string[]> {
  if (!holdsEgress || !sessionsAllowed) return [];
  const able = providers.filter(({ hasEgress }) => hasEgress === true);
  const lists = await Promise.all(
    able.map(async ({ kind, gateRefusal }) => {
      const refusal = gateRefusal?.(unaborted()).catch(String) ?? Promise.resolve('none');
      const known = await orAfter(clock, GATE_MS, refusal, () => 'not known yet');
      return [`${kind}/${EGRESS}`, ...(known === undefined ? [`${kind}/${EGRESS_GATE}`] : [])];
    }),
  );
  return lists.flat();
}

/** What any provider can, what each can as `provider/capability`, `sessions` and `images`. */
function capabilitiesOf(
  providers: readonly Provider[],
  { sessionsAllowed, images }: Pick<HeartbeatParts, 'sessionsAllowed' | 'images'>,
): string[] {
  const all = new Set<string>(providers.flatMap(({ capabilities }) => capabilities));
  for (const { kind, capabilities } of providers) for (const each of capabilities) all.add(`${kind}/${each}`);
  for (const { kind, readyImage } of providers) if (readyImage) all.add(`${kind}/${PULLS}`);
  if (sessionsAllowed) all.add(SESSIONS);
  if (images) all.add(IMAGES);
  return [...all];
}
