// A spawn that takes a ready sandbox: admission, the change of hands and `running` are one transaction, so that a crash
// leaves either a warm sandbox or a sandbox, and one is never given twice.
import { keptWarnings } from '../../domain/differences.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { IdempotencyClaim, Reservation, SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Prewarm } from '../prewarm/prewarm.ts';
import type { WarmEntry } from '../prewarm/prewarm-stock.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { sandboxView } from '../records/views.ts';
import type { Fleet } from '../workers/fleet.ts';
import type { SpawnPlan } from './plan.ts';

export interface ClaimDeps {
  sandboxes: Pick<SandboxStore, 'reserve'>;
  prewarm: Prewarm;
  publisher: Publisher;
  settings: Settings;
  fleet: Fleet;
}

/** The running sandbox, or why it was not taken; undefined when there is none of this shape. */
export async function claimWarm(
  deps: ClaimDeps,
  plan: SpawnPlan,
  shape: string | undefined,
  claim: IdempotencyClaim | undefined,
): Promise<{ sandbox: Sandbox } | Exclude<Reservation, { kind: 'reserved' | 'gone' }> | undefined> {
  const entry = shape === undefined ? undefined : await deps.prewarm.take(shape);
  if (!entry) return undefined;
  const row = claimedRow(plan, entry);
  if (plan.strict && row.warnings !== undefined) {
    // A new one would differ in the same, and its provider says so.
    deps.prewarm.putBack(entry);
    return undefined;
  }
  const sandbox = sandboxView(row);
  const reservation = await reserve(deps, row, entry, { claim, response: JSON.stringify(sandbox) });
  if (reservation.kind === 'reserved') {
    deps.prewarm.claimed(entry);
    deps.publisher.committed(reservation.events);
    return { sandbox };
  }
  if (reservation.kind === 'gone') {
    deps.prewarm.forget(entry);
    return undefined;
  }
  deps.prewarm.putBack(entry);
  return reservation;
}

function claimedRow({ row, warnings }: SpawnPlan, { row: warm }: WarmEntry): SandboxRecord {
  const { id, epoch, image, memory_mb, vcpus, runtime_id } = warm;
  const runtime = runtime_id === undefined ? {} : { runtime_id };
  const differs = keptWarnings([...warnings, ...warm.warnings]);
  const told = differs.length === 0 ? {} : { warnings: differs };
  return { ...row, id, epoch, state: 'running', image, memory_mb, vcpus, ...runtime, ...told };
}

async function reserve(
  { sandboxes, prewarm, publisher, settings, fleet }: ClaimDeps,
  row: SandboxRecord,
  entry: WarmEntry,
  { claim, response }: { claim: IdempotencyClaim | undefined; response: string },
): Promise<Reservation> {
  const events = [publisher.draft('sandbox.created', row), publisher.draft('sandbox.running', row)];
  try {
    const placement = fleet.placement({ local: true, remote: false });
    const limits = { ...settings.limits(row.provider as ProviderKind), placement };
    return await sandboxes.reserve(row, limits, events, claim, { response });
  } catch (error) {
    prewarm.unsure(entry);
    throw error;
  }
}
