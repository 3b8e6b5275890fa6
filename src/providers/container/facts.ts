// What the engine can do, as it says itself: asked once a minute, by many at once only once.

import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply } from './engine-faults.ts';

const KEPT_MS = 60_000;

export interface EngineFacts {
  version: string;
  /** Podman's service, which cannot hold sandboxes. */
  is_podman: boolean;
  cpus: number;
  runtimes: string[];
  default_runtime: string;
  /** Which limits its kernel enforces. */
  limits: { memory: boolean; swap: boolean; pids: boolean; cpu: boolean; system_calls: boolean };
}

export interface FactsReader {
  read(signal: AbortSignal): Promise<EngineFacts>;
  /** What was last read, however old. */
  known(): EngineFacts | undefined;
}

export function factsReader(engine: Engine, clock: Clock): FactsReader {
  let known: { facts: EngineFacts; at: number } | undefined;
  return {
    read: async (signal) => {
      if (known && clock.monotonic() - known.at < KEPT_MS) return known.facts;
      const answer = await engine.json({ method: 'GET', path: '/info', what: 'describe itself' }, signal);
      known = { facts: factsOf(answer), at: clock.monotonic() };
      return known.facts;
    },
    known: () => known?.facts,
  };
}

function factsOf(answer: unknown): EngineFacts {
  if (typeof answer !== 'object' || answer === null)
    throw invalidEngineReply('/info is no object', undefined);
  const info = answer as Record<string, unknown>;
  const { ServerVersion, NCPU, Runtimes, DefaultRuntime } = info;
  return {
    version: typeof ServerVersion === 'string' ? ServerVersion : 'of an unknown version',
    // Nobody else tells what it builds images with.
    is_podman: 'BuildahVersion' in info,
    cpus: typeof NCPU === 'number' && NCPU > 0 ? NCPU : Number.POSITIVE_INFINITY,
    runtimes: typeof Runtimes === 'object' && Runtimes !== null ? Object.keys(Runtimes) : [],
    default_runtime: typeof DefaultRuntime === 'string' ? DefaultRuntime : '',
    limits: {
      memory: info.MemoryLimit !== false,
      swap: info.SwapLimit !== false,
      pids: info.PidsLimit !== false,
      cpu: info.CpuCfsQuota !== false,
      system_calls: hasSeccomp(info.SecurityOptions),
    },
  };
}

/** Words like `name=seccomp,profile=default`. An engine that tells none of its options may have it. */
function hasSeccomp(options: unknown): boolean {
  return !Array.isArray(options) || options.some((option) => /^name=seccomp\b/.test(String(option)));
}

/** The facts of an engine that can hold sandboxes; throws `provider_error` for Podman. */
export function rejectPodman(facts: EngineFacts): EngineFacts {
  if (!facts.is_podman) return facts;
  throw new ServiceError(
    'provider_error',
    `Podman ${facts.version} is not supported: it closes the standard input of a sandbox when the first connection to it ends.`,
    { remedy: 'Install Docker Engine, or use the userspace provider.' },
  );
}
