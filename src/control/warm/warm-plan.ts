// What templates want to have ready: for each its shape, how many, and how one is planned.
import type { Ids } from '../../domain/ports.ts';
import { templateRequest } from '../../domain/template.ts';
import { warmShape } from '../../domain/warm-shape.ts';
import type { Provider } from '../../providers/provider.ts';
import type { TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';
import type { Caller } from '../control-plane.ts';
import type { Settings } from '../settings.ts';
import { type ChooseDeps, chooseProvider } from '../spawn/choose.ts';
import { planSpawn, type SpawnPlan } from '../spawn/plan.ts';

const ALL = 10_000;
/** Nobody's: the owner is named by the spawn that takes it. */
const NOBODY: Caller = { role: 'admin', credential: 'prewarm', request_id: 'prewarm' };

export interface WarmPlanDeps extends ChooseDeps {
  templates: Pick<TemplateStore, 'list'>;
  settings: Settings;
  cpus: number;
  ids: Ids;
}

export interface Want {
  template: string;
  shape: string;
  count: number;
  provider: Provider;
  setup: readonly string[];
  env: Record<string, string>;
  /** A new row's worth of it. */
  plan(now: number): SpawnPlan;
}

export interface Wants {
  all: Want[];
  /** Templates of which nothing can be said now: what they have is left alone. */
  unknown: Map<string, unknown>;
}

/** In all at most `defaults.max_prewarm`: by name, the first come first. */
export async function wantedWarm(deps: WarmPlanDeps): Promise<Wants> {
  const templates = (await deps.templates.list(ALL)).filter(({ prewarm }) => prewarm > 0);
  const wants: Wants = { all: [], unknown: new Map() };
  let left = deps.settings.maxPrewarm;
  for (const template of templates.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const count = Math.min(left, template.prewarm);
    left -= count;
    try {
      wants.all.push({ ...(await want(deps, template)), count });
    } catch (error) {
      wants.unknown.set(template.name, error);
    }
  }
  return wants;
}

async function want(deps: WarmPlanDeps, template: TemplateRecord): Promise<Omit<Want, 'count'>> {
  const { settings, cpus, ids } = deps;
  const { name, setup } = template;
  const request = { ...templateRequest(template, {}), template: name };
  const provider = await chooseProvider(deps, request.provider);
  const limits = settings.ownerLimits;
  const plan = (now: number) =>
    planSpawn(request, NOBODY, { settings, cpus, provider, setup, limits, id: ids.sandbox(), now });
  const example = plan(0);
  return { template: name, shape: shapeOf(template, example), provider, setup, env: example.row.env, plan };
}

/** The shape of what a plan would start. */
export function shapeOf(template: TemplateRecord, { row, image, setup }: SpawnPlan): string {
  return warmShape(template, { ...row, image, setup });
}
