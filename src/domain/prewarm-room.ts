// Decides whether one more sandbox can be prewarmed. Spawns do not check this because they displace prewarmed sandboxes.
import type { AdmissionLimits } from './admission.ts';

/** Sandboxes plus prewarmed ones, in total and of the provider. */
export interface Occupancy {
  total: number;
  of_provider: number;
}

/** How far the occupancy exceeds the limits in total and of the provider; at least 0. */
export function overLimits(
  { total, of_provider }: Occupancy,
  { max_sandboxes, max_provider_sandboxes = 0 }: AdmissionLimits,
): Occupancy {
  return { total: beyond(total, max_sandboxes), of_provider: beyond(of_provider, max_provider_sandboxes) };
}

/** True if one more stays within both limits. */
export function hasRoom({ total, of_provider }: Occupancy, limits: AdmissionLimits): boolean {
  const over = overLimits({ total: total + 1, of_provider: of_provider + 1 }, limits);
  return over.total === 0 && over.of_provider === 0;
}

const beyond = (used: number, cap: number): number => (cap > 0 ? Math.max(0, used - cap) : 0);
