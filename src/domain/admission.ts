// Whether a spawn may have what it asks for. The one place that decides, used by the deed and by the dry run alike.

/** Limits in force for one request; 0 means no cap. */
export interface AdmissionLimits {
  max_sandboxes: number;
}

/** Rows that have not ended, counted in the same transaction. */
export interface AdmissionUsage {
  active_sandboxes: number;
}

export type AdmissionReason = 'max_sandboxes';

export interface AdmissionDecision extends AdmissionUsage, AdmissionLimits {
  allowed: boolean;
  reason?: AdmissionReason;
  message?: string;
}

/** Pure; the first reason that applies, in the order of api.md part 2. */
export function decideAdmission(usage: AdmissionUsage, limits: AdmissionLimits): AdmissionDecision {
  const full = limits.max_sandboxes > 0 && usage.active_sandboxes >= limits.max_sandboxes;
  if (!full) return { allowed: true, ...usage, ...limits };
  return {
    allowed: false,
    reason: 'max_sandboxes',
    message: `All ${limits.max_sandboxes} sandboxes that this server allows are in use.`,
    ...usage,
    ...limits,
  };
}
