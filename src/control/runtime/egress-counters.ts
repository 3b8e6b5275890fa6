// Counters of gates, added up.
import type { EgressCounters } from '../../egress/egress.ts';

export const NOTHING: EgressCounters = {
  allowed: 0,
  denied: 0,
  failed: 0,
  open: 0,
  sent_bytes: 0,
  received_bytes: 0,
};

export const sum = (a: EgressCounters, b: EgressCounters): EgressCounters => ({
  allowed: a.allowed + b.allowed,
  denied: a.denied + b.denied,
  failed: a.failed + b.failed,
  open: a.open + b.open,
  sent_bytes: a.sent_bytes + b.sent_bytes,
  received_bytes: a.received_bytes + b.received_bytes,
});
