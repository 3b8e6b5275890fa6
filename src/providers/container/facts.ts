// What the engine reports about itself. Read at most once a minute.

import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply } from './engine-faults.ts';

const KEPT_MS = 60_000;

export interface EngineFacts {
  version: string;
  /** Podman's service, which cannot run sandboxes. */
  is_podman: boolean;
  cpus: number;
  runtimes: string[];
  default_runtime: string;
  /** The limits that its kernel enforces. */
  limits: { memory: boolean; swap: boolean; pids: boolean; cpu: boolean; system_calls: boolean };
}

export interface FactsReader {
  read(signal: AbortSignal): Promise<EngineFacts>;
  /** The last facts, however old. */
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
    throw invalidEngineReply('/info is not an object', undefined);
  const info = answer as Record<string, unknown>;
  const { ServerVersion, NCPU, Runtimes, DefaultRuntime } = info;
  return {
    version: typeof ServerVersion === 'string' ? ServerVersion : 'of an unknown version',
    // Only Podman reports this field.
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

/** Options read like `name=seccomp,profile=default`. An engine that reports no options may have it. */
function hasSeccomp(options: unknown): boolean {
  return !Array.isArray(options) || options.some((option) => /^name=seccomp\b/.test(String(option)));
}

/**
 * Returns the facts of a supported engine; throws `provider_error` for Podman. Podman's conmon runs without
 * --leave-stdin-open, whatever StdinOnce says: it closes a container's standard input when the first attached client
 * disconnects, and the agent is unreachable from then on (seen with Podman 4.3.1 and conmon 2.1.6).
 */
export function rejectPodman(facts: EngineFacts): EngineFacts {
  if (!facts.is_podman) return facts;
  throw new ServiceError(
    'provider_error',
    `Podman ${facts.version} is not supported: it closes the standard input of a sandbox when the first connection to it ends.`,
    { remedy: 'Install Docker Engine, or use the userspace provider.' },
  );
}
