// Takes a prewarmed sandbox for a spawn. Admission, the change of owner and `running` are one transaction, so that a
// crash leaves either a prewarmed sandbox or a sandbox, and none is given twice.
import type { AdmissionLimits } from '../../domain/admission.ts';
import { keptWarnings } from '../../domain/differences.ts';
import type { Clock } from '../../domain/ports.ts';
import { prewarmShape } from '../../domain/prewarm-shape.ts';
import { formatTemplateKey } from '../../domain/template-key.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { TemplateRecord } from '../../store/seam/templates.ts';
import type { IdempotencyClaim, Reservation, SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { sandboxView } from '../records/views.ts';
import type { PrewarmEntry } from '../runtime/prewarm-stock.ts';
import type { Fleet } from '../workers/fleet.ts';
import type { SpawnPlan } from './plan.ts';

/** The ready sandboxes as a spawn uses them. */
export interface ReadySandboxes {
  /** One of this shape that answers, reserved for the caller, who calls `claimed`, `putBack`, `forget` or `unsure` next. */
  take(shape: string): Promise<PrewarmEntry | undefined>;
  claimed(entry: PrewarmEntry): void;
  putBack(entry: PrewarmEntry): void;
  forget(entry: PrewarmEntry): void;
  unsure(entry: PrewarmEntry): void;
  /** Ends one that does not answer, and starts another. */
  end(entry: PrewarmEntry): void;
  /** Ends as many as an admitted spawn needs room for. */
  makeRoom(provider: string, limits: AdmissionLimits): Promise<void>;
}

export interface TakePrewarmedDeps {
  sandboxes: Pick<SandboxStore, 'reserve'>;
  prewarm: ReadySandboxes;
  clock: Clock;
  publisher: Publisher;
  settings: Settings;
  fleet: Fleet;
}

/** The running sandbox, or the reason against it; undefined when none has this shape. */
export async function takePrewarmed(
  deps: TakePrewarmedDeps,
  plan: SpawnPlan,
  shape: string | undefined,
  claim: IdempotencyClaim | undefined,
): Promise<{ sandbox: Sandbox } | Exclude<Reservation, { kind: 'reserved' | 'gone' }> | undefined> {
  const entry = shape === undefined ? undefined : await deps.prewarm.take(shape);
  if (!entry) return undefined;
  const row = claimedRow(plan, entry);
  if (plan.strict && row.warnings !== undefined) {
    // A new sandbox would have the same differences, and its provider reports them.
    deps.prewarm.putBack(entry);
    return undefined;
  }
  if (!(await givenDeadline(deps, entry, row.expires_at))) return undefined;
  const sandbox = sandboxView(row);
  const kept = { claim, response: JSON.stringify(sandbox), demand: plan.demand };
  const reservation = await reserve(deps, row, entry, kept);
  if (reservation.kind === 'reserved') {
    deps.prewarm.claimed(entry);
    deps.publisher.committed(reservation.events);
    return { sandbox };
  }
  if (reservation.kind === 'gone') {
    deps.prewarm.forget(entry);
    return undefined;
  }
  if (await givenDeadline(deps, entry, undefined)) deps.prewarm.putBack(entry);
  return reservation;
}

/**
 * A ready sandbox has no deadline until it is taken: it gets one before its row, so that none runs without. One that does
 * not answer is ended, and the result is false.
 */
async function givenDeadline(
  { prewarm, clock }: TakePrewarmedDeps,
  entry: PrewarmEntry,
  expires_at: string | undefined,
): Promise<boolean> {
  const end = expires_at === undefined ? undefined : Date.parse(expires_at);
  try {
    await entry.lease?.io.setDeadline?.(agentLifeMs(end, clock.now()));
    return true;
  } catch {
    prewarm.end(entry);
    return false;
  }
}

function claimedRow({ row, warnings }: SpawnPlan, { row: warm }: PrewarmEntry): SandboxRecord {
  const { id, epoch, image, memory_mb, vcpus, runtime_id } = warm;
  const runtime = runtime_id === undefined ? {} : { runtime_id };
  const differs = keptWarnings([...warnings, ...warm.warnings]);
  const changed = differs.length === 0 ? {} : { warnings: differs };
  return { ...row, id, epoch, state: 'running', image, memory_mb, vcpus, ...runtime, ...changed };
}

async function reserve(
  { sandboxes, prewarm, publisher, settings, fleet }: TakePrewarmedDeps,
  row: SandboxRecord,
  entry: PrewarmEntry,
  {
    claim,
    response,
    demand,
  }: Pick<SpawnPlan, 'demand'> & { claim: IdempotencyClaim | undefined; response: string },
): Promise<Reservation> {
  const types = ['sandbox.created', 'sandbox.running'] as const;
  const events = types.map((type) => publisher.draft(type, row, row.created_by));
  try {
    const placement = fleet.placement({ local: true, remote: false, sessions: false, demand });
    const limits = { ...settings.limits(row.provider as ProviderKind), placement };
    return await sandboxes.reserve({ sandbox: row, limits, events, claim, warm: { response } });
  } catch (error) {
    prewarm.unsure(entry);
    throw error;
  }
}

/** The shape of the sandbox that a plan would start. */
export function shapeOf(template: TemplateRecord, { row, image, setup }: SpawnPlan): string {
  return prewarmShape(
    { template: formatTemplateKey(template), version: template.version },
    { ...row, image, setup },
  );
}
