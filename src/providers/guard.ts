// Wraps every provider: a deadline for each call, one kind of error, a limit on starts, a log line. The only translator of
// provider errors. A runtime that is created after its call was abandoned is destroyed here.
import type { SandboxIo } from '../agent/io.ts';
import { ConcurrencyLimit } from '../domain/concurrency-limit.ts';
import { ServiceError } from '../domain/errors.ts';
import { withoutHostPaths } from '../domain/host-paths.ts';
import { asNotStarted, NotStarted } from '../domain/not-started.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import { withinDeadline } from './deadline.ts';
import type { Created, Provider, RuntimeEvent, RuntimeRef, RuntimeSpec } from './provider.ts';

const DEADLINES_MS = {
  create: 60_000,
  destroy: 60_000,
  inspect: 10_000,
  list: 10_000,
  attach: 10_000,
  probe: 3_000,
  snapshots: 10_000,
  'list images': 10_000,
  'try a gate': 30_000,
  'measure use': 10_000,
} as const;
type Operation = keyof typeof DEADLINES_MS;

const CLOSE_MS = 5000;

const STARTS_AT_ONCE = 32;
const WAITING_STARTS = { waiting: 2000, waitMs: 60_000 };

interface GuardDeps {
  clock: Clock;
  logger: Logger;
  /** The owner of the provider, for errors: `of worker edge-1`. Absent for providers of this process. */
  of?: string;
}

type Make = <T>(
  operation: Operation,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
  late?: (value: T) => void,
) => Promise<T>;

/**
 * The same provider with guarantees: every call settles within its deadline and a second after its abort, and rejects
 * with a ServiceError or the signal's reason. `probe` never rejects.
 */
export function guard(provider: Provider, deps: GuardDeps): Provider {
  const name = nameOf(provider, deps);
  const make = caller(provider, deps);
  const starts = new ConcurrencyLimit(STARTS_AT_ONCE, { clock: deps.clock, ...WAITING_STARTS });
  const clearAway = (ref: RuntimeRef) =>
    make('destroy', new AbortController().signal, (signal) => provider.destroy(ref, signal)).catch(
      () => undefined,
    );
  const { snapshots, gateRefusal, usage, openEgress } = provider;
  return {
    ...traitsOf(provider),
    describe: () => provider.describe(),
    ...(provider.refuseImage && { refuseImage: provider.refuseImage }),
    probe: (signal) => probing(make, provider, signal),
    create: (spec, signal) => {
      const late = (made: Created) => void clearAway(lateOne(provider, spec, made));
      return started(starts, signal, () =>
        make('create', signal, (inner) => provider.create(spec, inner), late),
      );
    },
    inspect: (ref, signal) => make('inspect', signal, (inner) => provider.inspect(ref, inner)),
    destroy: (ref, signal) => make('destroy', signal, (inner) => provider.destroy(ref, inner)),
    attach: (ref, signal) => {
      const late = (io: SandboxIo) => io.close();
      return make('attach', signal, (inner) => provider.attach(ref, inner), late);
    },
    ...(openEgress && {
      openEgress: (ref, onNews, signal) =>
        make(
          'attach',
          signal,
          (inner) => openEgress(ref, onNews, inner),
          (link) => link.close(),
        ),
    }),
    list: (signal) => make('list', signal, (inner) => provider.list(inner)),
    ...imageCalls(provider, make, name),
    ...(gateRefusal && { gateRefusal: (signal) => make('try a gate', signal, gateRefusal) }),
    ...(usage && { usage: (refs, signal) => make('measure use', signal, (inner) => usage(refs, inner)) }),
    ...(snapshots && { snapshots: (signal) => make('snapshots', signal, snapshots) }),
    // No deadline: a watch lasts as long as its listener.
    ...(provider.watch && { watch: (onEvent, signal) => watching(provider, name, onEvent, signal) }),
    close: () => closed(provider, deps),
  };
}

function imageCalls(provider: Provider, make: Make, name: string) {
  const { presentImages, readyImage, imageState, imageId, hasCurrentImage } = provider;
  return {
    ...(presentImages && { presentImages: (signal) => make('list images', signal, presentImages) }),
    // It has a limit of its own, and bounds what runs at once.
    ...(readyImage && {
      readyImage: (spec, signal) =>
        readyImage(spec, signal).catch((error: unknown) => {
          throw failureOf(signal, error, name, 'pull an image');
        }),
    }),
    ...(imageState && {
      imageState: (spec, signal) => make('list images', signal, (inner) => imageState(spec, inner)),
    }),
    ...(imageId && {
      imageId: (spec, signal) => make('list images', signal, (inner) => imageId(spec, inner)),
    }),
    ...(hasCurrentImage && {
      hasCurrentImage: (ref, signal) => make('inspect', signal, (inner) => hasCurrentImage(ref, inner)),
    }),
  } satisfies Partial<Provider>;
}

const nameOf = ({ kind }: Provider, { of }: GuardDeps) => (of === undefined ? kind : `${kind} ${of}`);

function traitsOf({
  kind,
  label,
  capabilities,
  hasNetwork,
  hasEgress = false,
  hostsPools = false,
  namesAreGiven = false,
}: Provider) {
  return {
    kind,
    capabilities,
    hasEgress,
    hostsPools,
    namesAreGiven,
    ...(label !== undefined && { label }),
    ...(hasNetwork !== undefined && { hasNetwork }),
  };
}

/** Identifies a late runtime by its label only, if another one may have the same id. */
function lateOne(
  { namesAreGiven }: Provider,
  { id, epoch }: RuntimeSpec,
  { runtime_id }: Created,
): RuntimeRef {
  return namesAreGiven ? { id, epoch } : { runtime_id, id, epoch };
}

/** Runs `create` when it has a slot; without one it fails as not started. */
async function started(starts: ConcurrencyLimit, signal: AbortSignal, create: () => Promise<Created>) {
  let hadTurn = false;
  try {
    return await starts.run(() => {
      hadTurn = true;
      return create();
    }, signal);
  } catch (error) {
    throw hadTurn ? error : asNotStarted(error, signal);
  }
}

/** A hanging step must not keep the server from stopping or its database from closing. */
async function closed(provider: Provider, deps: GuardDeps): Promise<void> {
  const { clock, logger } = deps;
  const expired = () =>
    new ServiceError('unavailable', `Provider ${nameOf(provider, deps)} did not close in time.`);
  const bounds = { ms: CLOSE_MS, expired, signal: new AbortController().signal };
  await withinDeadline(clock, bounds, () => provider.close()).catch((error: unknown) =>
    logger.warn(
      { err: error, provider: provider.kind },
      'Could not close a provider; stopping without waiting for it.',
    ),
  );
}

function caller(provider: Provider, deps: GuardDeps): Make {
  const { clock, logger } = deps;
  const name = nameOf(provider, deps);
  const log = logger.child({ provider: provider.kind });
  return async (operation, signal, run, late) => {
    const began = clock.monotonic();
    const bounds = { ms: DEADLINES_MS[operation], expired: () => tooSlow(name, operation), signal };
    const ended = (outcome: string) =>
      log.debug({ operation, outcome, ms: Math.round(clock.monotonic() - began) }, 'provider call');
    try {
      const value = await withinDeadline(clock, bounds, run, late);
      ended('ok');
      return value;
    } catch (error) {
      ended('failed');
      throw failureOf(signal, error, name, operation);
    }
  };
}

async function probing(make: Make, provider: Provider, signal: AbortSignal) {
  try {
    return await make('probe', signal, (inner) => provider.probe(inner));
  } catch (error) {
    const message = error instanceof ServiceError ? error.message : 'The check was interrupted.';
    return { healthy: false, message, findings: [] };
  }
}

async function watching(
  provider: Provider,
  name: string,
  onEvent: (event: RuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    await provider.watch?.(onEvent, signal);
  } catch (error) {
    throw translated(name, 'watch', error);
  }
}

function tooSlow(name: string, operation: Operation): ServiceError {
  const seconds = DEADLINES_MS[operation] / 1000;
  return new ServiceError(
    'unavailable',
    `Provider ${name} did not finish ${operation} within ${seconds} s.`,
    {
      remedy: 'Try again. If the error remains, check the provider on its host.',
    },
  );
}

type Action = Operation | 'watch' | 'pull an image';

/** The caller's own reason, if it ended the call. */
const failureOf = (signal: AbortSignal, error: unknown, name: string, action: Action) =>
  signal.aborted && error === signal.reason ? error : translated(name, action, error);

function translated(name: string, action: Action, error: unknown): ServiceError {
  if (error instanceof ServiceError) return withoutPaths(error);
  return new ServiceError('provider_error', `Provider ${name} failed to ${action}.`, {
    cause: error,
    remedy: 'Look up the request id in the log.',
  });
}

/** Removes host paths from a failure: only administrators and the log, which has the cause, see them. */
function withoutPaths(failure: ServiceError): ServiceError {
  const { code, remedy, retryAfterMs, details, status } = failure;
  const message = withoutHostPaths(failure.message);
  const shownRemedy = remedy === undefined ? undefined : withoutHostPaths(remedy);
  if (message === failure.message && shownRemedy === remedy) return failure;
  const plain = new ServiceError(code, message, {
    cause: failure,
    status,
    operatorMessage: remedy === undefined ? failure.message : `${failure.message} ${remedy}`,
    ...(shownRemedy !== undefined && { remedy: shownRemedy }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(details !== undefined && { details }),
  });
  return failure instanceof NotStarted ? new NotStarted(plain) : plain;
}
