// Whether a spawn may have what it asks for. The one place that decides, used by the deed and by the dry run alike.

/** Limits in force for one request; 0 means no cap. */
export interface AdmissionLimits {
  max_sandboxes: number;
  /** Of the request's provider; absent: no cap. */
  max_provider_sandboxes?: number;
}

/** Rows that have not ended, counted in the same transaction. */
export interface AdmissionUsage {
  active_sandboxes: number;
  /** Those of the request's provider. */
  active_provider_sandboxes: number;
}

export type AdmissionReason = 'max_sandboxes' | 'worker_capacity';

export interface AdmissionDecision extends AdmissionUsage, AdmissionLimits {
  allowed: boolean;
  reason?: AdmissionReason;
  message?: string;
}

/** Pure; the first reason that applies, in the order of api.md part 2. */
export function decideAdmission(usage: AdmissionUsage, limits: AdmissionLimits): AdmissionDecision {
  const denied = (reason: AdmissionReason, message: string): AdmissionDecision => ({
    allowed: false,
    reason,
    message,
    ...usage,
    ...limits,
  });
  const { max_sandboxes, max_provider_sandboxes = 0 } = limits;
  if (reached(usage.active_sandboxes, max_sandboxes))
    return denied('max_sandboxes', `All ${max_sandboxes} sandboxes that this server allows are in use.`);
  if (reached(usage.active_provider_sandboxes, max_provider_sandboxes))
    return denied(
      'worker_capacity',
      `All ${max_provider_sandboxes} sandboxes that this provider allows are in use.`,
    );
  return { allowed: true, ...usage, ...limits };
}

const reached = (used: number, cap: number): boolean => cap > 0 && used >= cap;
