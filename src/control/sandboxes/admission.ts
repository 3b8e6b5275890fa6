// The dry run of admission. The decision is pure (`domain/admission.ts`) and made by the store inside one transaction,
// as in a spawn.
import {
  type AdmissionDecision,
  type AdmissionLimits,
  type AdmissionRequest,
  betterDenial,
  isCapacityDenial,
  isPlaceless,
  requestOfRow,
} from '../../domain/admission.ts';
import { defined } from '../../domain/defined.ts';
import { formatDuration } from '../../domain/duration.ts';
import { asServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { lifeMs } from '../../domain/ttl.ts';
import { demandOf } from '../../domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider } from '../../providers/provider.ts';
import type { AdmissionDecision as Shown } from '../../schema/admission.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateStore } from '../../store/seam/templates.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { LimitsOf, QueueSettings, Settings } from '../records/settings.ts';
import type { Credentials } from '../runtime/credentials.ts';
import { alternatives, type ChooseDeps, chooseProvider } from '../spawn/choose.ts';
import { type EgressWish, egressPlace, egressWish, withCredentials } from '../spawn/egress.ts';
import { planSpawn, type SpawnPlan, spawnOwner } from '../spawn/plan.ts';
import { placementOf, refuseLocally } from '../spawn/reserve.ts';
import { type FullRequest, withTemplate } from '../spawn/template-request.ts';

export interface AdmissionDeps extends ChooseDeps {
  sandboxes: Pick<SandboxStore, 'admission'>;
  templates: Pick<TemplateStore, 'get'>;
  credentials: Pick<Credentials, 'wish'>;
  settings: Settings;
  limitsOf: LimitsOf;
  cpus: number;
  clock: Clock;
  queue: { stats(): Promise<{ depth: number }> };
}

/** What a spawn of `request` would get now. Throws for an invalid request, as a spawn does. */
export async function admissionOf(
  deps: AdmissionDeps,
  request: SpawnRequest,
  caller: Caller,
): Promise<Shown> {
  const { plan, ...decision } = await decided(deps, request, caller);
  const { selected_worker_id: on, provider } = decision;
  if (on !== LOCAL_WORKER || !plan) return decision;
  const { image, image_policy, private_images } = plan;
  const { signal } = new AbortController();
  const image_state = await deps.providers
    .get(provider)
    .imageState?.({ image, image_policy, private_images }, signal);
  return image_state === undefined ? decision : { ...decision, image_state };
}

type Decided = Shown & { plan?: SpawnPlan | undefined };

async function decided(deps: AdmissionDeps, request: SpawnRequest, caller: Caller): Promise<Decided> {
  const { settings, sandboxes } = deps;
  const owner_id = spawnOwner(request, caller, settings);
  const full = await withTemplate(deps.templates, request, owner_id);
  const queue = { ...settings.queue, ...(await deps.queue.stats()) };
  const asksNetwork = request.network === 'default';
  const wish = egressWish(request, full.template, settings);
  const asked = { ...full, asksNetwork, ...(await withCredentials(deps, full.request, { wish, owner_id })) };
  const { wanted, limits, others, plan: first } = await questionOf(deps, asked, caller);
  const decision = await sandboxes.admission(wanted, limits);
  if (!isPlaceless(decision)) return { ...shown(wanted.provider, decision, queue), plan: first };
  let best = { provider: wanted.provider, decision };
  const image = full.request.image ?? settings.image;
  const plan = { setup: full.setup, demand: demandOf(full.request), image };
  // As in a spawn: where the chosen provider has no capacity, another may have some.
  for (const provider of await others()) {
    const placement = placementOf(deps, plan, provider);
    const next = { ...wanted, provider: provider.kind };
    const answer = await sandboxes.admission(next, { ...settings.limits(provider.kind), placement });
    if (answer.allowed) return { ...shown(provider.kind, answer, queue), plan: first };
    if (betterDenial(best.decision, answer) === answer) best = { provider: provider.kind, decision: answer };
  }
  return shown(best.provider, best.decision, queue);
}

/** What the store is to decide; `others` are the providers to try next. */
async function questionOf(
  deps: AdmissionDeps,
  {
    request,
    setup,
    asksNetwork,
    egress,
  }: FullRequest & {
    asksNetwork: boolean;
    egress: EgressWish | undefined;
  },
  caller: Caller,
): Promise<{
  wanted: AdmissionRequest;
  limits: AdmissionLimits;
  others(): Promise<Provider[]>;
  plan?: SpawnPlan;
}> {
  const { settings, cpus, clock } = deps;
  const owner_id = spawnOwner(request, caller, settings);
  const limits = await deps.limitsOf(owner_id);
  try {
    const provider = await chooseProvider(deps, request.provider);
    const names = { id: '', ...(settings.pool && { vm_id: '' }) };
    const facts = {
      settings,
      cpus,
      provider,
      limits,
      setup,
      asksNetwork,
      ...(egress && (await egressPlace(deps, provider, { wish: egress, worker_id: request.worker_id }))),
      ...names,
      now: clock.now(),
    };
    const plan = planSpawn(request, caller, facts);
    await refuseLocally(deps, plan, provider);
    const placement = placementOf(deps, plan, provider);
    return {
      wanted: requestOfRow(plan.row),
      limits: { ...settings.limits(provider.kind), placement },
      others: async () => (egress ? [] : alternatives(deps, request.provider, provider)),
      plan,
    };
  } catch (error) {
    const { code } = asServiceError(error);
    if (code !== 'not_found' && code !== 'unavailable') throw error;
    const unplaceable = code === 'not_found' ? 'provider_unknown' : 'worker_unavailable';
    const provider = request.provider ?? settings.defaultProvider;
    const ttlMs = lifeMs(request.ttl, settings.ttlMs, limits);
    const wanted = defined({ provider, owner_id, ttlMs });
    return { wanted, limits: { ...settings.limits(), unplaceable }, others: async () => [] };
  }
}

function shown(
  provider: string,
  decision: AdmissionDecision,
  queue: QueueSettings & { depth: number },
): Shown {
  const { allowed, reason, message, active_sandboxes, max_sandboxes } = decision;
  const { active_owner_sandboxes, max_owner_sandboxes, maxTtlMs } = decision;
  return defined({
    allowed,
    queueable: isCapacityDenial(decision) && queue.overflow === 'queue' && queue.depth < queue.most,
    reason,
    message,
    active_sandboxes,
    max_sandboxes,
    active_owner_sandboxes,
    max_owner_sandboxes,
    max_ttl: maxTtlMs > 0 ? formatDuration(maxTtlMs) : undefined,
    provider,
    selected_worker_id: allowed ? (decision.placement?.worker_id ?? LOCAL_WORKER) : undefined,
    eligible_workers: decision.placement?.eligible ?? 0,
    queue_depth: queue.depth,
    max_spawn_queue: queue.most,
  });
}
