// One pull of an image. The engine tells of it line by line, and of its failure with status 200 in one of these lines.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { EngineRefusal, engineLost } from './engine-faults.ts';
import { jsonLines } from './json-lines.ts';

const PULL_MS = 15 * 60_000;
const TELL_MS = 5000;

export interface PullDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
}

interface Progress {
  error?: unknown;
  status?: unknown;
  id?: unknown;
}

/** Rejects with `provider_error` that names the image and the reason, `unavailable` when the engine was lost or slow. */
export async function pull(deps: PullDeps, reference: string): Promise<void> {
  const { engine, clock, logger } = deps;
  const stop = new AbortController();
  const timer = clock.after(PULL_MS, () => stop.abort(tooSlow(reference)));
  const call = { method: 'POST', path: '/images/create', query: { fromImage: withTag(reference) } } as const;
  logger.info({ image: reference }, 'pulling an image');
  try {
    const answer = await engine.stream({ ...call, what: 'pull an image', ms: PULL_MS }, stop.signal);
    stop.signal.addEventListener('abort', () => answer.destroy(), { once: true });
    await follow(deps, reference, answer);
    logger.info({ image: reference }, 'pulled an image');
  } catch (error) {
    stop.signal.throwIfAborted();
    throw error instanceof EngineRefusal ? pullFailed(reference, error.words) : error;
  } finally {
    timer.cancel();
  }
}

/** Without a tag an engine would pull every one there is. */
export function withTag(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return /[:@]/.test(name) ? reference : `${reference}:latest`;
}

async function follow(deps: PullDeps, reference: string, answer: IncomingMessage): Promise<void> {
  const { clock, logger, engine } = deps;
  let told = clock.monotonic();
  try {
    for await (const line of jsonLines(answer)) {
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

const REASONS: readonly [pattern: RegExp, reason: string][] = [
  [
    /unauthorized|denied|authentication required|no basic auth/i,
    'its registry refuses, or has no such image',
  ],
  [/toomanyrequests|rate limit/i, 'its registry limits pulls'],
  [/manifest unknown|not found|does not exist|no matching manifest/i, 'its registry has no such image'],
  [/no space left/i, 'the disk of the engine is full'],
  [/x509|certificate/i, 'the certificate of its registry is not trusted'],
  [
    /dial tcp|no such host|lookup |timeout|deadline|unreachable|refused|reset|EOF|connect/i,
    'its registry cannot be reached from the engine',
  ],
];

/** Public for its test. The engine's words say why; what is sent is ours. */
export function pullFailed(reference: string, words: string): ServiceError {
  const [, reason] = REASONS.find(([pattern]) => pattern.test(words)) ?? [];
  const why = reason ?? 'the engine could not pull it';
  return new ServiceError('provider_error', `Image ${reference} cannot be had: ${why}.`, {
    cause: new Error(words),
    remedy: 'Check its name and the registry, or put the image on the engine beforehand.',
  });
}

function tooSlow(reference: string): ServiceError {
  return new ServiceError('unavailable', `Image ${reference} was not pulled in time.`, {
    remedy: 'Try again, or put the image on the engine beforehand.',
  });
}
