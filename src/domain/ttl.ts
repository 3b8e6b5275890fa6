// How long a sandbox may live.
import { formatDuration, parseDuration } from './duration.ts';
import { ServiceError } from './errors.ts';
import type { OwnerLimits } from './quota.ts';

/** The life asked for in ms, at least 1s; else the default, as far as the limits allow. */
export function lifeMs(ttl: string | undefined, defaultMs: number, { maxTtlMs }: OwnerLimits): number {
  if (ttl === undefined) return maxTtlMs > 0 ? Math.min(defaultMs, maxTtlMs) : defaultMs;
  const ms = parseDuration(ttl, 'ttl');
  if (ms >= 1000) return ms;
  throw new ServiceError('bad_request', 'ttl is too short.', { remedy: 'Ask for at least 1s.' });
}

/** The same where no admission follows: throws `resource_limit` for one over the maximum. */
export function boundedLifeMs(ttl: string | undefined, defaultMs: number, limits: OwnerLimits): number {
  const ms = lifeMs(ttl, defaultMs, limits);
  if (limits.maxTtlMs > 0 && ms > limits.maxTtlMs) throw ttlRefused(limits.maxTtlMs);
  return ms;
}

export function ttlRefused(maxTtlMs: number): ServiceError {
  const max_ttl = formatDuration(maxTtlMs);
  return new ServiceError('resource_limit', 'ttl is over the maximum.', {
    remedy: `Ask for at most ${max_ttl}.`,
    details: { reason: 'max_ttl', max_ttl },
  });
}

/** How long an agent waits beyond the end of its sandbox, so that a server that runs ends it first, in its own order. */
export const AGENT_GRACE_MS = 250;

/** The whole milliseconds that an agent gets until `end`, both in ms of one clock; undefined: the sandbox never ends by itself. */
export function agentLifeMs(end: number | undefined, now: number): number | undefined {
  return end === undefined ? undefined : Math.ceil(Math.max(0, end - now)) + AGENT_GRACE_MS;
}
