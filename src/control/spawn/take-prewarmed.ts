// Takes a prewarmed sandbox for a spawn. Admission, the change of owner and `running` are one transaction, so that a
// crash leaves either a prewarmed sandbox or a sandbox, and none is given twice.
import { type AdmissionLimits, isPlaceless } from '../../domain/admission.ts';
import { defined } from '../../domain/defined.ts';
import { keptWarnings } from '../../domain/differences.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { prewarmShape } from '../../domain/prewarm-shape.ts';
import { formatTemplateKey } from '../../domain/template-key.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { TemplateRecord } from '../../store/seam/templates.ts';
import type { Reservation, ReserveOrder, SandboxRecord, SandboxStore } from '../../store/store.ts';
import { egressNotes } from '../records/egress-rules.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { sandboxView } from '../records/views.ts';
import type { EgressGates } from '../runtime/egress-gates.ts';
import type { OpenOutcomes } from '../runtime/open-outcomes.ts';
import type { PrewarmEntry, WhereReady } from '../runtime/prewarm-stock.ts';
import type { Fleet } from '../workers/fleet.ts';
import type { SpawnPlan } from './plan.ts';

/** The ready sandboxes as a spawn uses them. */
export interface ReadySandboxes {
  /**
   * One of this shape that answers and is on a worker of `where`, reserved for the caller, who calls `claimed`, `putBack`,
   * `forget` or `unsure` next.
   */
  take(shape: string, where?: WhereReady): Promise<PrewarmEntry | undefined>;
  claimed(entry: PrewarmEntry): void;
  putBack(entry: PrewarmEntry): void;
  forget(entry: PrewarmEntry): void;
  unsure(entry: PrewarmEntry): void;
  /** Ends one that does not answer, and starts another. */
  end(entry: PrewarmEntry): void;
  /** Ends as many as an admitted spawn needs room for. */
  makeRoom(row: Pick<SandboxRecord, 'id' | 'provider' | 'worker_id'>, limits: AdmissionLimits): Promise<void>;
}

export interface TakePrewarmedDeps {
  sandboxes: Pick<SandboxStore, 'reserve'>;
  prewarm: ReadySandboxes;
  clock: Clock;
  publisher: Publisher;
  settings: Settings;
  fleet: Fleet;
  egress: Pick<EgressGates, 'hold'>;
  openOutcomes: Pick<OpenOutcomes, 'failed'>;
  logger: Logger;
}

type Taken =
  | { sandbox: Sandbox; turn?: number }
  | Exclude<Reservation, { kind: 'reserved' | 'gone' }>
  | undefined;

/** What is settled together with the take. */
type Settled = Pick<ReserveOrder, 'claim' | 'ticket'>;

/**
 * The running sandbox, or the reason against it; undefined when none has this shape on a worker that accepts sandboxes.
 */
export async function takePrewarmed(
  deps: TakePrewarmedDeps,
  plan: SpawnPlan,
  shape: string | undefined,
  settled: Settled,
): Promise<Taken> {
  const except: string[] = [];
  const { worker_id } = plan.demand ?? {};
  while (shape !== undefined) {
    const entry = await deps.prewarm.take(shape, { worker_id, except });
    if (!entry) break;
    const taken = await takeEntry(deps, plan, entry, settled);
    if (!taken || !('decision' in taken) || !isPlaceless(taken.decision)) return taken;
    except.push(entry.row.worker_id);
  }
  return undefined;
}

async function takeEntry(
  deps: TakePrewarmedDeps,
  plan: SpawnPlan,
  entry: PrewarmEntry,
  settled: Settled,
): Promise<Taken> {
  const taken = claimedRow(plan, entry);
  const row = plan.egress ? withPolicy(taken, plan.egress) : taken;
  if (plan.strict && taken.warnings !== undefined) {
    // A new sandbox would have the same differences, and its provider reports them.
    deps.prewarm.putBack(entry);
    return undefined;
  }
  if (!(await givenDeadline(deps, entry, row.expires_at))) return undefined;
  const sandbox = sandboxView(row);
  const kept = { ...settled, response: JSON.stringify(sandbox), demand: plan.demand };
  const reservation = await reserve(deps, row, entry, kept);
  if (reservation.kind === 'reserved') {
    deps.prewarm.claimed(entry);
    deps.publisher.committed(reservation.events);
    if (row.worker_id !== LOCAL_WORKER) passLifetime(deps, row);
    // It is cut off until this is done.
    if (plan.egress) await deps.egress.hold({ ...row, egress: plan.egress });
    return { sandbox, ...(reservation.turn !== undefined && { turn: reservation.turn }) };
  }
  if (reservation.kind === 'gone') {
    deps.prewarm.forget(entry);
    return undefined;
  }
  if (await givenDeadline(deps, entry, undefined)) deps.prewarm.putBack(entry);
  return reservation;
}

/** In the background: until its worker knows the lifetime, the lease bounds the sandbox, and each renewal of it tells. */
function passLifetime({ fleet, logger }: TakePrewarmedDeps, row: SandboxRecord): void {
  fleet
    .renew(row)
    .catch((err: unknown) =>
      logger.debug(
        { sandbox_id: row.id, err },
        'Could not tell a worker the lifetime of a sandbox; the next renewal of its lease does.',
      ),
    );
}

/**
 * A ready sandbox has no deadline until it is taken: it gets one before its row, so that none runs without. One that does
 * not answer is ended, and the result is false. On a worker the agent belongs to the worker (`passLifetime`).
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
  const { id, epoch, image, image_digest, memory_mb, vcpus, runtime_id, worker_id } = warm;
  const runtime = defined({ runtime_id, image_digest });
  // Those of the plan are about this host.
  const differs = keptWarnings([...(worker_id === LOCAL_WORKER ? warnings : []), ...warm.warnings]);
  const changed = differs.length === 0 ? {} : { warnings: differs };
  return { ...row, id, epoch, worker_id, state: 'running', image, memory_mb, vcpus, ...runtime, ...changed };
}

function withPolicy(row: SandboxRecord, egress: SandboxEgress): SandboxRecord {
  const warnings = keptWarnings([...(row.warnings ?? []), ...egressNotes(egress)]);
  return { ...row, egress, ...(warnings.length > 0 && { warnings }) };
}

async function reserve(
  { sandboxes, prewarm, publisher, settings, fleet, openOutcomes }: TakePrewarmedDeps,
  row: SandboxRecord,
  entry: PrewarmEntry,
  { claim, ticket, response, demand }: Pick<SpawnPlan, 'demand'> & Settled & { response: string },
): Promise<Reservation> {
  const types = ['sandbox.created', 'sandbox.running'] as const;
  const events = types.map((type) => publisher.draft(type, row, row.created_by));
  try {
    const { worker_id: on } = row;
    const isHere = on === LOCAL_WORKER;
    const placement = {
      ...fleet.placement({ local: isHere, remote: !isHere, sessions: !isHere, demand }),
      ...(!isHere && { on }),
    };
    const limits = { ...settings.limits(row.provider as ProviderKind), placement };
    return await sandboxes.reserve({
      sandbox: row,
      limits,
      events,
      claim,
      ticket,
      warm: { response, replica_id: entry.row.replica_id },
    });
  } catch (error) {
    prewarm.unsure(entry);
    // The home of a ticket decides about its sandbox.
    if (!claim && !ticket) openOutcomes.failed(row.id, error);
    throw error;
  }
}

/** What the shape depends on of a template that has prewarmed sandboxes. */
export type TemplateShape = Pick<TemplateRecord, 'name' | 'owner_id' | 'version'>;

export function templateShape({
  name,
  owner_id,
  version,
  prewarm,
}: TemplateRecord): TemplateShape | undefined {
  return prewarm > 0 ? { name, version, ...(owner_id !== undefined && { owner_id }) } : undefined;
}

/** The shape of the sandbox that a plan would start. */
export function shapeOf(template: TemplateShape, { row, image, setup, egress }: SpawnPlan): string {
  const made = egress && defined({ mode: egress.mode, trust: egress.trust });
  return prewarmShape(
    { template: formatTemplateKey(template), version: template.version },
    { ...row, image, setup, egress: made },
  );
}
