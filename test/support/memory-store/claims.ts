// Idempotency keys of the memory store.
import { hasEnded } from '../../../src/domain/sandbox-state.ts';
import type { IdempotencyClaim, Replay, SandboxRecord } from '../../../src/store/store.ts';
import type { Tables } from './tables.ts';

export interface StoredClaim extends IdempotencyClaim {
  sandbox_id: string;
  created_at: string;
  response?: string;
}

export const claimId = (claim: IdempotencyClaim) => JSON.stringify([claim.scope, claim.key]);

/** A claim without a response is dead once its row is gone or has ended: nothing will ever answer for it. */
export function liveClaim(tables: Tables, claim: IdempotencyClaim): Replay | undefined {
  const known = tables.claims.get(claimId(claim));
  if (known === undefined) return undefined;
  const { sandbox_id, fingerprint, response } = known;
  if (response !== undefined) return { kind: 'replay', sandbox_id, fingerprint, response };
  const row = tables.sandboxes.get(sandbox_id);
  return row && !hasEnded(row.state) ? { kind: 'replay', sandbox_id, fingerprint } : undefined;
}

export function settleClaim(tables: Tables, row: SandboxRecord, response: string | undefined): void {
  for (const [id, claim] of tables.claims) {
    if (claim.sandbox_id !== row.id) continue;
    if (row.state === 'error') tables.claims.delete(id);
    else if (response !== undefined) claim.response = response;
  }
}
