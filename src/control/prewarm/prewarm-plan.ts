// Plans the prewarmed sandboxes of templates: the shape, the count, and how each is created.
import { fairShares } from '../../domain/fair-shares.ts';
import type { Ids } from '../../domain/ports.ts';
import { mayUsePrivate } from '../../domain/private-images.ts';
import { templateRequest } from '../../domain/template.ts';
import { formatTemplateKey } from '../../domain/template-key.ts';
import type { WorkerDemand } from '../../domain/worker-demand.ts';
import type { Provider } from '../../providers/provider.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../api/caller.ts';
import type { LimitsOf, Settings } from '../records/settings.ts';
import type { Credentials } from '../runtime/credentials.ts';
import type { Demand } from '../runtime/demand.ts';
import { type ChooseDeps, chooseProvider } from '../spawn/choose.ts';
import { egressPlace, egressWish } from '../spawn/egress.ts';
import { AUTO, autoShape } from '../spawn/plain.ts';
import { type PlanFacts, planSpawn, type SpawnPlan } from '../spawn/plan.ts';
import { shapeOf } from '../spawn/take-prewarmed.ts';
import { autoWants } from './auto-wants.ts';

/** The part of the memory of the host that sandboxes without a template may have. */
const HOST_PART = 4;

/** No owner: the spawn that takes it sets one. */
const NOBODY: Caller = {
  role: 'admin',
  actor: 'system:prewarm',
  credential: 'prewarm',
  request_id: 'prewarm',
};

export interface PrewarmPlanDeps extends ChooseDeps {
  templates: Pick<TemplateStore, 'prewarmed'>;
  settings: Settings;
  limitsOf: LimitsOf;
  demand: Pick<Demand, 'peaks'>;
  credentials: Pick<Credentials, 'env'>;
  cpus: number;
  /** The memory of this host in megabytes, if it is known. */
  memoryMb: number | undefined;
  ids: Ids;
}

export interface Want {
  /** `domain/template-key.ts`, or `AUTO`. */
  template: string;
  shape: string;
  count: number;
  provider: Provider;
  setup: readonly string[];
  /** What the template demands of the worker. */
  demand: WorkerDemand | undefined;
  env: Record<string, string>;
  /** The policy of the template, under which its setup runs. */
  egress?: SandboxEgress | undefined;
  /** This server cannot hold it. */
  isElsewhere?: boolean;
  /** The owner of the template. */
  owner_id?: string | undefined;
  /** What its image is now, where a ready sandbox of an earlier image must not be given out, and the provider can tell. */
  imageId?: string | undefined;
  /** Plans a new row. */
  plan(now: number): SpawnPlan;
}

export interface Wants {
  all: Want[];
  /** Templates that cannot be planned now, by key: their sandboxes are left alone. */
  unknown: Map<string, unknown>;
}

/** At most `defaults.max_prewarm`, shared between owners and the templates without one, there by name. */
export async function wantedPrewarm(deps: PrewarmPlanDeps): Promise<Wants> {
  const templates = await deps.templates.prewarmed();
  const left = await shares(deps, templates);
  const wants: Wants = { all: [], unknown: new Map() };
  for (const template of templates) {
    const { owner_id, prewarm } = template;
    const count = Math.min(left.get(owner_id) ?? 0, prewarm);
    left.set(owner_id, (left.get(owner_id) ?? 0) - count);
    try {
      wants.all.push({ ...(await want(deps, template)), count });
    } catch (error) {
      wants.unknown.set(formatTemplateKey(template), error);
    }
  }
  wants.all.push(...(await plainWants(deps)));
  return wants;
}

/** What `prewarm.auto` keeps of spawns without a template. A shape that cannot be planned now is left out. */
async function plainWants(deps: PrewarmPlanDeps): Promise<Want[]> {
  const { settings, demand, memoryMb = Number.POSITIVE_INFINITY } = deps;
  const { autoPrewarm: auto } = settings;
  if (!auto) return [];
  const memory_mb = Math.min(auto.memory_mb, memoryMb / HOST_PART);
  const wants = await autoWants(deps, demand.peaks(), { max: auto.max, memory_mb });
  return wants.flatMap(({ request, ...kept }) => {
    const plan = planner(deps, request, { provider: kept.provider, setup: [], privateImages: false });
    try {
      const shape = autoShape(plan(0));
      return [{ ...kept, template: AUTO, shape, setup: [], demand: undefined, env: {}, plan }];
    } catch {
      return [];
    }
  });
}

/** Plans rows of a request, for nobody. */
function planner(
  { settings, cpus, ids }: PrewarmPlanDeps,
  request: SpawnRequest,
  facts: Pick<PlanFacts, 'provider' | 'setup' | 'privateImages' | 'egress' | 'isElsewhere'>,
): Want['plan'] {
  return (now) => {
    const limits = settings.ownerLimits;
    return planSpawn(request, NOBODY, { settings, cpus, limits, id: ids.sandbox(), now, ...facts });
  };
}

/** How many each owner may have ready: never more than its limit of sandboxes. */
async function shares({ settings, limitsOf }: PrewarmPlanDeps, templates: readonly TemplateRecord[]) {
  const requested = new Map<string | undefined, number>();
  for (const { owner_id, prewarm } of templates)
    requested.set(owner_id, (requested.get(owner_id) ?? 0) + prewarm);
  for (const [owner_id, count] of requested) {
    const { max_sandboxes: most } = await limitsOf(owner_id);
    if (owner_id !== undefined && most > 0) requested.set(owner_id, Math.min(count, most));
  }
  return fairShares(requested, settings.maxPrewarm);
}

async function want(deps: PrewarmPlanDeps, template: TemplateRecord): Promise<Omit<Want, 'count'>> {
  const { settings } = deps;
  const { setup, owner_id } = template;
  const asked = { ...templateRequest(template, {}), template: template.name };
  const provider = await chooseProvider(deps, asked.provider);
  const wish = egressWish({}, template, settings);
  const place = wish && (await egressPlace(deps, provider, { wish, worker_id: template.worker_id }));
  const placeholders = wish && (await deps.credentials.env(wish));
  const request = { ...asked, env: { ...placeholders, ...asked.env } };
  // Whoever may spawn the template gets it.
  const privateImages = mayUsePrivate(settings.privateOwners, owner_id);
  const plan = planner(deps, request, { provider, setup, privateImages, ...place });
  const example = plan(0);
  const key = formatTemplateKey(template);
  const { demand, row } = example;
  const policy = { egress: place?.egress, isElsewhere: place?.isElsewhere === true, owner_id };
  const shape = shapeOf(template, example);
  return { template: key, shape, provider, setup, demand, env: row.env, ...policy, plan };
}
