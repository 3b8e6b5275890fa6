// Starts a reserved row: provider → setup → `running`, with its events and the stored answer. A failure leaves nothing
// behind.
import { keptWarnings, refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import { asNotStarted } from '../../domain/not-started.ts';
import type { Logger } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Started } from '../../providers/provider.ts';
import type { EventType } from '../../schema/event.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { SandboxRecord, SandboxStore, Transition } from '../../store/store.ts';
import { egressNotes } from '../records/egress-rules.ts';
import type { Publisher } from '../records/publish.ts';
import { sandboxView } from '../records/views.ts';
import type { AgentDeadlines } from '../runtime/agent-deadlines.ts';
import type { EgressGates } from '../runtime/egress-gates.ts';
import { endOfSpawn, isEndByWish } from '../runtime/in-flight-spawns.ts';
import type { Rollback } from '../runtime/rollback.ts';
import type { Runtimes } from '../runtime/runtimes.ts';
import { runSetup, type SetupDeps } from '../runtime/setup.ts';
import type { SpawnPlan } from './plan.ts';
import type { ReservedRow } from './reserve.ts';
import type { ReadySandboxes } from './take-prewarmed.ts';

export interface StartDeps extends SetupDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'getDurable' | 'transition'>;
  publisher: Publisher;
  rollback: Rollback;
  runtimes: Pick<Runtimes, 'create' | 'destroy' | 'capabilities'>;
  deadlines: Pick<AgentDeadlines, 'set'>;
  prewarm: Pick<ReadySandboxes, 'makeRoom'>;
  egress: Pick<EgressGates, 'certificate' | 'ports' | 'open' | 'hold' | 'close'>;
  logger: Logger;
}

/**
 * Throws the failure after its rollback, `conflict` when the sandbox was destroyed meanwhile, `unavailable` when another replica
 * took this one for dead.
 */
export async function startSandbox(
  deps: StartDeps,
  { plan, provider: { kind }, flight: { signal } }: ReservedRow,
): Promise<Sandbox> {
  const { row } = plan;
  await deps.prewarm.makeRoom(row, deps.settings.limits(kind));
  let type: EventType = 'provider.failed';
  try {
    refuseBefore(plan, signal);
    const trust = plan.egress?.trust && (await deps.egress.certificate());
    const listens = plan.egress && (await deps.egress.ports({ ...row, egress: plan.egress }));
    const created = await deps.runtimes.create({ ...plan, trust, listens }, signal);
    // Some backends report a difference only afterwards.
    refuseDifferences(plan.strict, created.warnings);
    type = 'operation.failed';
    const started = { ...row, runtime_id: created.runtime_id };
    if (plan.egress && !canWait(plan, created))
      await deps.egress.open({ ...started, egress: plan.egress }, signal);
    await runSetup(deps, started, plan.setup, signal);
    const sandbox = await running(deps, plan, created);
    if (sandbox) return sandbox;
    deps.egress.close(row.id);
    // A replica that knew nothing of this start has ended the row, maybe before the runtime existed.
    if (!signal.aborted) discard(deps, { ...row, runtime_id: created.runtime_id });
  } catch (error) {
    deps.egress.close(row.id);
    if (!signal.aborted && (await hasEnded(deps, row))) discard(deps, row);
    else if (!signal.aborted) {
      const event = isRefusal(error) ? 'operation.failed' : type;
      deps.publisher.failure('sandbox.spawn', row, error, row.created_by, event);
      await deps.rollback(row, error);
      throw error;
    }
  }
  // What ended the spawn owns the row now and finds the runtime by its label.
  throw await endOfSpawn(deps.sandboxes, row.id);
}

/**
 * Whether the gate may open after the answer: what connects waits for it. Setup commands may install packages, and a spawn with
 * credentials fails where its programs do not trust this server.
 */
const canWait = ({ egress, setup }: SpawnPlan, { listens }: Started) =>
  listens === true && !egress?.trust && setup.length === 0;

/** Whether another replica has taken the row to end it, which is then why the start failed. */
async function hasEnded({ sandboxes }: StartDeps, row: SandboxRecord): Promise<boolean> {
  try {
    const now = await sandboxes.get(row.id);
    return now?.epoch === row.epoch && isEndByWish(now);
  } catch {
    return false;
  }
}

/** Refuses a strict spawn before anything is created. */
function refuseBefore({ strict, warnings }: SpawnPlan, signal: AbortSignal): void {
  try {
    refuseDifferences(strict, warnings);
  } catch (error) {
    throw asNotStarted(error, signal);
  }
}

const isRefusal = (error: unknown) => error instanceof ServiceError && error.code === 'precondition_failed';

/** In the background: nobody waits for it, and reconciliation does the same. */
function discard({ runtimes, logger }: StartDeps, row: SandboxRecord): void {
  runtimes.destroy(row, new AbortController().signal).catch((err: unknown) => {
    const message = 'Could not destroy the runtime of a sandbox that ended while it was created.';
    logger.warn({ sandbox_id: row.id, err }, message);
  });
}

async function running(
  { sandboxes, publisher, deadlines, egress, logger }: StartDeps,
  plan: SpawnPlan,
  created: Started,
): Promise<Sandbox | undefined> {
  const { row } = plan;
  const { runtime_id, image, image_digest, memory_mb, vcpus } = created;
  const notes = [...(created.notes ?? []), ...(plan.egress ? egressNotes(plan.egress) : [])];
  const warnings = keptWarnings([...plan.warnings, ...created.warnings, ...notes]);
  const changed = warnings.length === 0 ? {} : { warnings };
  const digest = image_digest === undefined ? {} : { image_digest };
  const policy = plan.egress ? { egress: plan.egress } : {};
  const facts = { runtime_id, image, ...digest, ...policy, memory_mb, vcpus, ...changed };
  const patch = { state: 'running', ...facts } as const;
  const after = { ...row, ...patch };
  const change: Transition = {
    id: row.id,
    from: ['creating'],
    epoch: row.epoch,
    patch,
    replica_id: null,
    events: [publisher.draft('sandbox.running', after, row.created_by)],
    response: JSON.stringify(sandboxView(after)),
  };
  const moved = await sandboxes
    .transition(change)
    .catch((error: unknown) => written(sandboxes, change, error));
  if (!moved) return undefined;
  publisher.committed(moved.events);
  if (plan.egress && canWait(plan, created)) void egress.hold({ ...moved.sandbox, egress: plan.egress });
  const { worker_id, expires_at } = moved.sandbox;
  // It was extended while it started. The server ends it at its new end in any case.
  if (expires_at !== row.expires_at && worker_id === LOCAL_WORKER)
    await deadlines
      .set(moved.sandbox, expires_at)
      .catch((err: unknown) =>
        logger.warn(
          { sandbox_id: row.id, err },
          'Could not pass the later end of a new sandbox to its agent; the agent ends it at the earlier time.',
        ),
      );
  return sandboxView(moved.sandbox);
}

/** Throws the error again, unless the row shows that the change was written and only its answer was lost. */
async function written(
  sandboxes: Pick<SandboxStore, 'getDurable'>,
  { id, epoch, events }: Transition,
  error: unknown,
): Promise<Awaited<ReturnType<SandboxStore['transition']>>> {
  const row = await sandboxes.getDurable(id);
  if (row?.state !== 'running' || row.epoch !== epoch) throw error;
  return { sandbox: row, events: [...events] };
}
