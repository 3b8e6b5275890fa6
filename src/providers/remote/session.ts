// A session into a sandbox of a worker: a connection of its own, upgraded to the agent's protocol
// (docs/design/worker-sessions.md). Nothing of the worker's own words reaches a client.
import type { Duplex } from 'node:stream';
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Logger, Random } from '../../domain/ports.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { EGRESS_PROTOCOL } from '../../schema/worker-egress.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { EgressLink, EgressNews, RemoteWorker, RuntimeRef } from '../provider.ts';
import { type CallDeps, callHeaders, refused } from './call.ts';
import { RemoteEgressLink } from './egress-link.ts';

const OPEN_MS = 5000;

interface Target {
  worker: RemoteWorker;
  outgoing: Outgoing;
}

export interface SessionDeps extends CallDeps {
  random: Random;
  logger: Logger;
}

interface Wanted {
  ref: RuntimeRef;
  provider: string;
}

/**
 * Rejects with `unavailable` when the worker or the sandbox does not answer within 5 s each, `not_found` for a sandbox that
 * the worker does not run, `conflict` for one that starts or ends, `not_implemented` where there are no sessions.
 */
export async function openRemoteSession(
  deps: SessionDeps,
  target: Target,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<SandboxIo> {
  const stream = await openStream(deps, target, { ...wanted, protocol: 'svc-agent' }, signal);
  return openSession({ ...deps, stream, on: `on worker ${target.worker.id}` }, signal);
}

/** A link to the outgoing connections of the sandbox. Rejects as `openRemoteSession` does. */
export async function openRemoteEgress(
  deps: SessionDeps,
  target: Target,
  { onNews, ...wanted }: Wanted & { onNews(news: EgressNews): void },
  signal: AbortSignal,
): Promise<EgressLink> {
  const stream = await openStream(deps, target, { ...wanted, protocol: EGRESS_PROTOCOL }, signal);
  return new RemoteEgressLink(stream, { ...deps, ...target, onNews });
}

async function openStream(
  deps: SessionDeps,
  { worker, outgoing }: Target,
  { ref, provider, protocol }: Wanted & { protocol: string },
  signal: AbortSignal,
): Promise<Duplex> {
  const upgraded = await outgoing.upgrade({
    path: `/session/${encodeURIComponent(ref.id)}`,
    protocol,
    headers: {
      ...callHeaders(deps, worker),
      'x-worker-lease': Buffer.from(JSON.stringify(ref.lease)).toString('base64url'),
      'x-svc-runtime': ref.runtime_id === undefined ? provider : `${provider}/${ref.runtime_id}`,
    },
    signal,
    withinMs: OPEN_MS,
  });
  if ('stream' in upgraded) return upgraded.stream;
  throw refusal(worker.id, upgraded);
}

const CODES: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  501: 'not_implemented',
  503: 'unavailable',
};

/** A reply without our code is one of something in between, which does not pass an upgrade on. */
function refusal(worker_id: string, { status, text }: { status: number; text: string }): ServiceError {
  const code = CODES[status];
  if (code !== undefined && text.includes(`"${code}"`)) return refused(worker_id, code, text.slice(0, 512));
  return new ServiceError('unavailable', `Worker ${worker_id} did not open a session.`, {
    cause: new Error(`status ${status}`),
    details: { worker_id },
    remedy: 'A proxy in front of a worker must pass on Upgrade (docs/workers.md).',
  });
}
