// The files of a container image, from the engine: a container that never runs is made of it, exported, and removed.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { type Engine, openEngine } from '../../providers/container/engine.ts';
import { engineLost, invalidEngineReply } from '../../providers/container/engine-faults.ts';
import { images } from '../../providers/container/image.ts';
import { notTracked } from '../../providers/container/pulled-images.ts';
import { remove } from '../../providers/container/seed.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';

const IDLE_MS = 60_000;
const CREATE_MS = 60_000;

/** Who builds images may name any, and keeps what was pulled. */
const FOR_OPERATORS = {
  allowed: () => undefined,
  pulled: notTracked,
  pullMs: 15 * 60_000,
  bounds: { atOnce: 1, each: 1, waitMs: 0 },
};

/** What a builder that was killed left on an engine carries it. */
const LABEL = 'svc.export';

export interface ExportDeps {
  clock: Clock;
  logger: Logger;
  config: ContainerConfig;
}

/**
 * Hands `work` a tar of the image's root, pulled when the configuration allows it. Throws what `work` and the engine
 * throw: `provider_error` that names the image when it cannot be had, `unavailable` when the engine is lost or falls silent.
 */
export const withExport = <T>(
  deps: ExportDeps,
  reference: string,
  work: (tar: AsyncIterable<Buffer>) => Promise<T>,
  signal: AbortSignal,
): Promise<T> =>
  withImage(deps, reference, signal, async (engine) => {
    const id = await make(engine, reference, signal);
    const order = { path: `/containers/${id}/export`, what: 'export a container' };
    try {
      return await work(bytesOf({ ...deps, engine }, order, signal));
    } finally {
      await remove(engine, `/containers/${id}`, { force: 1 });
    }
  });

/** Hands `work` the archive that `docker save` writes of the image. Pulls and throws as `withExport` does. */
export const withSaved = <T>(
  deps: ExportDeps,
  reference: string,
  work: (tar: AsyncIterable<Buffer>) => Promise<T>,
  signal: AbortSignal,
): Promise<T> =>
  withImage(deps, reference, signal, (engine) => {
    const order = { path: `/images/${encodeURIComponent(reference)}/get`, what: 'save an image' };
    return work(bytesOf({ ...deps, engine }, order, signal));
  });

async function withImage<T>(
  deps: ExportDeps,
  reference: string,
  signal: AbortSignal,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = openEngine(deps);
  try {
    const ready = images({ ...deps, ...FOR_OPERATORS, engine, policy: deps.config.pull });
    await ready.ready(reference, {}, signal);
    return await work(engine);
  } finally {
    engine.close();
  }
}

async function make(engine: Engine, reference: string, signal: AbortSignal): Promise<string> {
  const body = {
    Image: reference,
    // An image may name no program; this one is never run.
    Cmd: ['/svc-export'],
    Labels: { [LABEL]: reference },
    HostConfig: { NetworkMode: 'none' },
  };
  const order = { method: 'POST', path: '/containers/create', body, ms: CREATE_MS } as const;
  const answer = await engine.json({ ...order, what: 'make a container of an image' }, signal);
  const id = (answer as { Id?: unknown } | undefined)?.Id;
  if (typeof id === 'string' && /^[0-9a-f]{12,64}$/.test(id)) return id;
  throw invalidEngineReply('a container without an id', undefined);
}

type Line = ExportDeps & { engine: Engine };

async function* bytesOf(
  { engine, clock }: Line,
  order: { path: string; what: string },
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const answer = await engine.stream({ method: 'GET', ...order, ms: IDLE_MS }, signal);
  let timer = clock.after(IDLE_MS, () => answer.destroy(silent()));
  const abort = () => answer.destroy(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for await (const chunk of answer as AsyncIterable<Buffer> & IncomingMessage) {
      timer.cancel();
      yield chunk;
      timer = clock.after(IDLE_MS, () => answer.destroy(silent()));
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServiceError ? error : engineLost(await engine.label(), error);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', abort);
    answer.destroy();
  }
}

function silent(): ServiceError {
  return new ServiceError('unavailable', 'The container engine stopped sending the image.', {
    remedy: 'Check the engine on its host, and try again.',
  });
}
