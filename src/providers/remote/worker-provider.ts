// A provider of another worker: sandboxes are created, inspected and destroyed by calls under a lease, and used over sessions
// (session.ts). Sandboxes are not listed because the worker may run others.
import type { SandboxIo } from '../../agent/io.ts';

import { OMIT_STRICT, refuseDifferences } from '../../domain/differences.ts';
import { formatDuration, MAX_DURATION_MS } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import type { Clock } from '../../domain/ports.ts';
import type { ErrorCode } from '../../schema/error.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import { type Validator, validator } from '../../schema/validator.ts';
import {
  MOST_MEASURED,
  RpcDestroyResult,
  RpcImageResult,
  RpcSpawnResult,
  RpcStatusResult,
  RpcUsageResult,
  type RpcStatusResult as Status,
} from '../../schema/worker-rpc.ts';
import { hadNoEffect } from '../outgoing/faults.ts';
import type {
  Created,
  EgressLink,
  EgressNews,
  ImageSpec,
  Provider,
  RuntimeRef,
  RuntimeSpec,
} from '../provider.ts';
import type { Reading } from '../reading.ts';
import { type WorkerCall, WorkerDiffers } from './call.ts';
import { reportedDifferences } from './reported-differences.ts';

const SPAWNED = validator(RpcSpawnResult, 'result');
const DESTROYED = validator(RpcDestroyResult, 'result');
const READY = validator(RpcImageResult, 'result');
const STATUS = validator(RpcStatusResult, 'result');
const MEASURED = validator(RpcUsageResult, 'result');

/** Opens a session into a sandbox of the worker. */
export type OpenWorkerSession = (
  target: { ref: RuntimeRef; provider: ProviderKind },
  signal: AbortSignal,
) => Promise<SandboxIo>;

/** Opens a link to the outgoing connections of a sandbox of the worker. */
export type OpenWorkerEgress = (
  target: { ref: RuntimeRef; provider: ProviderKind; onNews(news: EgressNews): void },
  signal: AbortSignal,
) => Promise<EgressLink>;

type CallWorker = <T>(call: WorkerCall) => Promise<T>;

/** One provider of one worker. */
export interface RemoteKind {
  worker_id: string;
  kind: ProviderKind;
}

export function workerProvider(
  { worker_id, kind }: RemoteKind,
  { call, open, openEgress }: { call: CallWorker; open: OpenWorkerSession; openEgress?: OpenWorkerEgress },
  clock: Clock,
): Provider {
  const target = ({ id, runtime_id }: RuntimeRef) => ({
    sandbox_id: id,
    provider: kind,
    ...(runtime_id !== undefined && { runtime_id }),
  });
  return {
    kind,
    capabilities: [],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: (spec, signal) => create({ worker_id, kind, call, clock }, spec, signal),
    readyImage: (spec, signal) => readyImage({ worker_id, kind, call, clock }, spec, signal),
    inspect: async (ref, signal) => {
      const fault = aboutThat(STATUS, ref, kind);
      const status = await call<Status>({ method: 'worker.status', params: target(ref), fault, signal });
      return status.state;
    },
    hasCurrentImage: async (ref, signal) => {
      const params = { ...target(ref), image: true };
      const status = await call<Status>({
        method: 'worker.status',
        params,
        fault: aboutThat(STATUS, ref, kind),
        signal,
      });
      return status.image_is_current;
    },
    destroy: async (ref, signal) => {
      const fault = aboutThat(DESTROYED, ref, kind);
      await call({ method: 'worker.destroy', params: target(ref), lease: ref.lease, fault, signal });
    },
    usage: (refs, signal) => usage({ kind, call }, refs, signal),
    attach: (ref, signal) => open({ ref, provider: kind }, signal),
    ...(openEgress && {
      openEgress: (ref, onNews, signal) => openEgress({ ref, provider: kind, onNews }, signal),
    }),
    list: async () => [],
    close: async () => {},
  };
}

/** In calls of a bounded size. */
async function usage(
  { kind, call }: Pick<RemoteKind, 'kind'> & { call: CallWorker },
  refs: readonly RuntimeRef[],
  signal: AbortSignal,
): Promise<Map<string, Reading>> {
  const readings = new Map<string, Reading>();
  const known = new Set(refs.map(({ id }) => id));
  for (let at = 0; at < refs.length; at += MOST_MEASURED) {
    const sandbox_ids = refs.slice(at, at + MOST_MEASURED).map(({ id }) => id);
    const params = { provider: kind, sandbox_ids };
    const result = await call<RpcUsageResult>({ method: 'worker.usage', params, fault: MEASURED, signal });
    for (const [id, reading] of Object.entries(result.readings)) if (known.has(id)) readings.set(id, reading);
  }
  return readings;
}

const NOT_HAD: Partial<Record<ErrorCode, string>> = {
  not_found: 'does not find image',
  forbidden: 'may not pull image',
  bad_request: 'does not accept the name of image',
  resource_limit: 'reached a limit while it pulled image',
  unavailable: 'cannot pull now image',
};

/** In our words; those of the worker are the cause, for the log. */
function notHad(worker_id: string, image: string, { code, message, retry_after_ms }: RpcImageResult) {
  const known = code !== undefined && NOT_HAD[code] !== undefined ? code : 'provider_error';
  return new ServiceError(
    known,
    `Worker ${worker_id} ${NOT_HAD[known] ?? 'could not pull image'} ${image}.`,
    {
      cause: new Error(message ?? 'no words'),
      remedy: `Check the name, and images.registries and the log of worker ${worker_id}.`,
      details: { worker_id, image },
      ...(retry_after_ms !== undefined && { retryAfterMs: retry_after_ms }),
    },
  );
}

/** Repeats the call while the worker pulls. The caller bounds it: its signal ends the wait, and not the pull. */
async function readyImage(
  { worker_id, kind, call, clock }: RemoteKind & { call: CallWorker; clock: Clock },
  { image, image_policy, account, private_images }: ImageSpec,
  signal: AbortSignal,
): Promise<string[]> {
  if (image === undefined || image_policy === undefined) return [];
  const own = account === undefined ? {} : { account };
  const params = { provider: kind, image, image_policy, ...own, ...(private_images && { private_images }) };
  const began = clock.monotonic();
  let waited = false;
  for (;;) {
    const order = { method: 'worker.image', params, fault: READY, signal } as const;
    const result = await call<RpcImageResult>(order);
    if (result.state === 'failed') throw notHad(worker_id, image, result);
    const { state, pulled } = result;
    waited ||= state === 'pulling';
    if (state === 'pulling') continue;
    if (!pulled && !waited) return [];
    const seconds = ((clock.monotonic() - began) / 1000).toFixed(1);
    return [`Image ${image} was pulled by worker ${worker_id} in ${seconds} s.`];
  }
}

async function create(
  { worker_id, kind, call, clock }: RemoteKind & { call: CallWorker; clock: Clock },
  spec: RuntimeSpec,
  signal: AbortSignal,
): Promise<Created> {
  const { id, image, memory_mb, vcpus, network, expires_at, lease } = spec;
  // The agreed time of several servers may go back a little.
  const leftMs = Math.min(MAX_DURATION_MS, Math.max(1000, Date.parse(expires_at) - clock.now()));
  const params = {
    sandbox_id: id,
    provider: kind,
    memory_mb,
    vcpus,
    network,
    ttl: formatDuration(leftMs),
    ...(image !== undefined && { image }),
    ...(spec.image_policy !== undefined && { image_policy: spec.image_policy }),
    ...(spec.private_images && { private_images: true }),
    ...(spec.gate && { gate: true }),
    ...(spec.trust !== undefined && { trust: spec.trust }),
    ...(spec.strict && { strict: true }),
  };
  const fault = withinRequest(aboutThat(SPAWNED, spec, kind), spec);
  const order = { method: 'worker.spawn', params, lease, fault, signal } as const;
  const made = await call<RpcSpawnResult>(order).catch((error: unknown) => {
    if (error instanceof WorkerDiffers)
      refuseDifferences(true, reportedDifferences(worker_id, spec, unmetIn(error)));
    throw hadNoEffect(error) ? asNotStarted(error, signal) : error;
  });
  return {
    runtime_id: made.runtime_id,
    image: made.image ?? image ?? kind,
    ...(made.image_digest !== undefined && { image_digest: made.image_digest }),
    memory_mb: made.memory_mb ?? memory_mb,
    vcpus: made.vcpus ?? vcpus,
    warnings: reportedDifferences(worker_id, spec, made.warnings ?? []),
  };
}

/** The differences in the refusal of a strict spawn, which a worker writes with its remedy; never none. */
const unmetIn = ({ message, text }: WorkerDiffers): string[] => [
  text.replace(message, '').replace(OMIT_STRICT, '').trim() || 'a difference without words',
];

/** Also rejects a result for another sandbox or provider. */
function aboutThat(shape: Validator, { id }: Pick<RuntimeRef, 'id'>, kind: ProviderKind): Validator {
  return (result) => {
    const { sandbox_id, provider } = result as { sandbox_id?: unknown; provider?: unknown };
    return (
      shape(result) ?? (sandbox_id === id && provider === kind ? undefined : 'The result is about another.')
    );
  };
}

/** A provider may raise smaller requests: a virtual machine does not start with less than 96 MB. */
const RAISED_MB = 128;

/** Also rejects a sandbox that is larger than requested, or on a worker that does not hold the lease. */
function withinRequest(shape: Validator, { memory_mb, vcpus, lease }: RuntimeSpec): Validator {
  return (result) => {
    const fault = shape(result);
    if (fault !== undefined) return fault;
    const made = result as RpcSpawnResult;
    const isSmaller = (made.memory_mb ?? 0) <= Math.max(memory_mb, RAISED_MB) && (made.vcpus ?? 0) <= vcpus;
    const isTheirs = lease === undefined || made.worker_id === lease.holder_id;
    return isSmaller && isTheirs ? undefined : 'The result is not what was asked for.';
  };
}
