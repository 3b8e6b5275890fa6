// One pull of an image. The engine tells of it line by line, and of its failure with status 200 in one of these lines.
// Why it failed goes to the log alone: the words for a closed port, a service that speaks something else and a registry
// without the image would tell a caller what runs in the engine's network.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import { jsonLines } from '../../domain/json-lines.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { EngineRefusal, engineLost } from './engine-faults.ts';
import { fullName } from './image-name.ts';
import { ENGINE_LINES } from './json-lines.ts';

const TELL_MS = 5000;
/** A failure is told no sooner: a port that is closed answers at once, a registry a moment later. */
const LEAST_MS = 2000;

export interface PullDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  /** How long a pull may take. */
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
  logger.info({ image: reference }, 'pulling an image');
  try {
    await pulled(deps, reference);
    logger.info({ image: reference }, 'pulled an image');
  } catch (error) {
    logger.warn({ image: reference, err: error }, 'an image could not be pulled');
    if (error instanceof ServiceError) throw error;
    await clock.sleep(Math.max(0, LEAST_MS - (clock.monotonic() - began)));
    throw pullFailed(reference, error);
  }
}

async function pulled(deps: PullDeps, reference: string): Promise<void> {
  const { engine, clock, pullMs } = deps;
  const stop = new AbortController();
  const timer = clock.after(pullMs, () => stop.abort(new TooSlow(`not pulled within ${pullMs / 1000} s`)));
  const query = { fromImage: fullName(reference) };
  const call = { method: 'POST', path: '/images/create', query, what: 'pull an image' } as const;
  try {
    const answer = await engine.stream({ ...call, ms: pullMs + LEAST_MS }, stop.signal);
    stop.signal.addEventListener('abort', () => answer.destroy(), { once: true });
    await follow(deps, reference, answer);
  } catch (error) {
    stop.signal.throwIfAborted();
    throw error;
  } finally {
    timer.cancel();
  }
}

class TooSlow extends Error {}

async function follow(deps: PullDeps, reference: string, answer: IncomingMessage): Promise<void> {
  const { clock, logger, engine } = deps;
  let told = clock.monotonic();
  try {
    for await (const line of jsonLines(answer, ENGINE_LINES)) {
      const { error, status, id } = line as Progress;
      if (error !== undefined) throw new EngineRefusal('pull an image', 200, `${error}`);
      if (clock.monotonic() - told < TELL_MS) continue;
      told = clock.monotonic();
      logger.info({ image: reference, layer: id, status }, 'still pulling an image');
    }
  } catch (error) {
    throw error instanceof EngineRefusal ? error : engineLost(await engine.label(), error);
  } finally {
    answer.destroy();
  }
}

/** Public for its test. Only a full disk is told apart: that the registry had the image is known by then. */
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
