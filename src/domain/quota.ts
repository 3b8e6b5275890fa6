// The limits of one owner: its quota where that says something, else the defaults (docs/design/api.md#owner-quotas).
import type { Quota, QuotaRequest } from '../schema/quota.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { ServiceError } from './errors.ts';
import { parseOwner } from './owner.ts';

/** Effective limits; 0 means unlimited. */
export interface OwnerLimits {
  max_sandboxes: number;
  maxTtlMs: number;
  maxExecTimeoutMs: number;
  /** The owner's own timeout, if it has one; then no exec runs without a timeout. */
  ownExecTimeoutMs?: number;
}

/** Names under /quotas that belong to the API. Owners with these names have the defaults. */
const RESERVED = ['summary'];

/** A quota replaces the default, so it can raise or lower a limit. */
export function effectiveLimits(quota: Quota | undefined, defaults: OwnerLimits): OwnerLimits {
  if (!quota) return defaults;
  const ownExecTimeoutMs = parseDuration(quota.max_exec_timeout, 'max_exec_timeout');
  return {
    max_sandboxes: quota.max_sandboxes || defaults.max_sandboxes,
    maxTtlMs: parseDuration(quota.max_ttl, 'max_ttl') || defaults.maxTtlMs,
    maxExecTimeoutMs: ownExecTimeoutMs || defaults.maxExecTimeoutMs,
    ...(ownExecTimeoutMs > 0 && { ownExecTimeoutMs }),
  };
}

/** Returns the quota of a request, created or changed at `now`. Throws `bad_request` for a malformed duration. */
export function quotaOf(owner_id: string, request: QuotaRequest, now: string): Quota {
  const duration = (name: 'max_ttl' | 'max_exec_timeout') =>
    formatDuration(parseDuration(request[name] ?? '0s', name));
  return {
    owner_id,
    max_sandboxes: request.max_sandboxes ?? 0,
    max_ttl: duration('max_ttl'),
    max_exec_timeout: duration('max_exec_timeout'),
    ...(request.egress !== undefined && { egress: request.egress }),
    created_at: now,
    updated_at: now,
  };
}

/** Parses the owner in a path. Throws `bad_request` for an invalid owner and for reserved names. */
export function parseQuotaOwner(text: string): string {
  const owner = parseOwner(text, 'The owner');
  if (RESERVED.includes(owner))
    throw new ServiceError('bad_request', `The owner ${owner} cannot have a quota.`, {
      remedy: 'The name is reserved; the defaults apply to this owner.',
    });
  return owner;
}
