// The limits of one owner: its quota where that says something, else the defaults (docs/design/api.md#owner-quotas).
import type { Quota, QuotaRequest } from '../schema/quota.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { ServiceError } from './errors.ts';
import { parseOwner } from './owner.ts';

/** What is in force; 0 is no cap. */
export interface OwnerLimits {
  max_sandboxes: number;
  maxTtlMs: number;
  maxExecTimeoutMs: number;
  /** The owner's own, where it has one: then nothing of it runs without a deadline. */
  ownExecTimeoutMs?: number;
}

/** Names under /quotas that are the API's own. Owners may be called so all the same: they have the defaults. */
const RESERVED = ['summary'];

/** A quota raises as well as lowers: it takes the place of the default. */
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

/** The quota that a request stands for, made or changed at `now`. Throws `bad_request` for a malformed duration. */
export function quotaOf(owner_id: string, request: QuotaRequest, now: string): Quota {
  const duration = (name: 'max_ttl' | 'max_exec_timeout') =>
    formatDuration(parseDuration(request[name] ?? '0s', name));
  return {
    owner_id,
    max_sandboxes: request.max_sandboxes ?? 0,
    max_ttl: duration('max_ttl'),
    max_exec_timeout: duration('max_exec_timeout'),
    created_at: now,
    updated_at: now,
  };
}

/** An owner whose quota a path names. Throws `bad_request` for what is not an owner, and for the reserved names. */
export function parseQuotaOwner(text: string): string {
  const owner = parseOwner(text, 'The owner');
  if (RESERVED.includes(owner))
    throw new ServiceError('bad_request', `The owner ${owner} cannot have a quota.`, {
      remedy: 'The name is reserved: the defaults are in force for this owner.',
    });
  return owner;
}
