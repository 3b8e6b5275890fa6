// Pulls one image. The engine reports progress in lines, and a failure in one of them, with status 200. The reason of a
// failure goes to the log only: different messages for a closed port, another service and a registry without the image
// would reveal what runs in the engine's network.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import { jsonLines } from '../../domain/json-lines.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { Engine } from './engine.ts';
import { ENGINE_LINES } from './engine-answers.ts';
import { EngineRefusal, engineLost } from './engine-faults.ts';
import { fullName } from './image-name.ts';

const LOG_MS = 5000;
/** Every failure takes at least this long, so its duration does not reveal whether a port is open. */
const LEAST_MS = 2000;

export interface PullDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  /** The timeout of a pull. */
  pullMs: number;
}

interface Progress {
  error?: unknown;
  status?: unknown;
  id?: unknown;
}

/** Rejects with `provider_error` that names the image, `unavailable` when the engine was lost. */
export async function pull(deps: PullDeps, reference: string): Promise<void> {
  const { clock, logger } = deps;
  const began = clock.monotonic();
  logger.info({ image: reference }, 'Pulling an image.');
  try {
    await pulled(deps, reference);
    logger.info({ image: reference }, 'Pulled an image.');
  } catch (error) {
    logger.warn({ image: reference, err: error }, 'Could not pull an image; spawns that need it fail.');
    if (error instanceof ServiceError) throw error;
    await clock.sleep(Math.max(0, LEAST_MS - (clock.monotonic() - began)));
    throw pullFailed(reference, error);
  }
}

function pulled(deps: PullDeps, reference: string): Promise<void> {
  const { engine, clock, pullMs } = deps;
  const query = { fromImage: fullName(reference) };
  const call = { method: 'POST', path: '/images/create', query, what: 'pull an image' } as const;
  const error = () => new Error(`not pulled within ${pullMs / 1000} s`);
  return withTimeout({ clock, ms: pullMs, error }, async (signal) => {
    try {
      const answer = await engine.stream({ ...call, ms: pullMs + LEAST_MS }, signal);
      signal.addEventListener('abort', () => answer.destroy(), { once: true });
      await follow(deps, reference, answer);
    } catch (failure) {
      signal.throwIfAborted();
      throw failure;
    }
  });
}

async function follow(deps: PullDeps, reference: string, answer: IncomingMessage): Promise<void> {
  const { clock, logger, engine } = deps;
  let loggedAt = clock.monotonic();
  try {
    for await (const line of jsonLines(answer, ENGINE_LINES)) {
      const { error, status, id } = line as Progress;
      if (error !== undefined) throw new EngineRefusal('pull an image', 200, `${error}`);
      if (clock.monotonic() - loggedAt < LOG_MS) continue;
      loggedAt = clock.monotonic();
      logger.info({ image: reference, layer: id, status }, 'Still pulling an image.');
    }
  } catch (error) {
    throw error instanceof EngineRefusal ? error : engineLost(await engine.label(), error);
  } finally {
    answer.destroy();
  }
}

/** Only a full disk has its own message, since it implies no more than that the registry has the image. */
export function pullFailed(reference: string, cause: unknown): ServiceError {
  const isFull = cause instanceof EngineRefusal && /no space left/i.test(cause.words);
  if (isFull)
    return new ServiceError('provider_error', `Image ${reference} does not fit on the disk of the engine.`, {
      cause,
      remedy: 'Free some space on that disk.',
    });
  const message = `Image ${reference} is not on the container engine and cannot be pulled.`;
  return new ServiceError('provider_error', message, {
    cause,
    remedy: 'Check its name, or import the image into the engine first. The log has the reason.',
    details: { reason: 'no_image', image: reference },
  });
}
