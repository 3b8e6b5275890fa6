// Converts a template request to the stored record. It stores every value that applies, so that a template means the
// same whatever the defaults become, and refuses a template that could never be spawned.
import { defined } from '../../domain/defined.ts';
import { formatDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { checkEnv, execArgv } from '../../domain/exec-request.ts';
import { parseImage } from '../../domain/image.ts';
import { imagePolicy } from '../../domain/image-policy.ts';
import { refuseMasked } from '../../domain/template.ts';
import { boundedLifeMs } from '../../domain/ttl.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { TemplateUpdate } from '../../schema/template.ts';
import type { TemplateFacts } from '../../store/seam/templates.ts';
import { checkEgress } from '../records/egress-rules.ts';
import type { Settings } from '../records/settings.ts';

export interface TemplateRules {
  settings: Settings;
  providers: Pick<ProviderSet, 'get' | 'all'>;
  /** `offered`: the kinds of provider that workers have. */
  fleet: { offered(): Promise<ReadonlySet<string>> };
}

/** Throws `not_found` if neither this server nor a worker has the provider. */
export async function refuseUnknownProvider(
  { provider }: Pick<TemplateUpdate, 'provider'>,
  { providers, fleet }: TemplateRules,
): Promise<void> {
  if (provider === undefined || providers.all.some(({ kind }) => kind === provider)) return;
  if (!(await fleet.offered()).has(provider)) providers.get(provider);
}

/** Throws `bad_request`, `resource_limit` for a ttl or prewarm over its maximum. */
export function templateFacts(request: TemplateUpdate, rules: TemplateRules): TemplateFacts {
  const { settings } = rules;
  const { description, provider, network, metadata = {}, env = {}, setup = [], prewarm = 0 } = request;
  const image = parseImage(request.image, 'image');
  refuseNowhere(image, provider, rules);
  checkEnv(env);
  refuseMasked(env);
  for (const command of setup) execArgv({ command });
  const { worker_id, worker_labels = {}, pull, egress } = request;
  imagePolicy(settings.pull, pull);
  checkEgress(request, settings.egress);
  const { maxPrewarm } = settings;
  if (prewarm > maxPrewarm)
    throw new ServiceError('resource_limit', 'prewarm is over the maximum.', {
      remedy: `Ask for at most ${maxPrewarm}, or raise defaults.max_prewarm.`,
      details: { reason: 'max_prewarm', max_prewarm: maxPrewarm },
    });
  return defined({
    description,
    image,
    provider,
    memory_mb: request.memory_mb ?? settings.memory_mb,
    vcpus: request.vcpus ?? settings.vcpus,
    ttl: formatDuration(boundedLifeMs(request.ttl, settings.ttlMs, settings.ownerLimits)),
    network,
    egress,
    worker_id,
    pull,
    worker_labels,
    metadata,
    env,
    setup,
    prewarm,
  });
}

/** Refuses an image that every provider here refuses; providers of other workers have their own rules. */
function refuseNowhere(
  image: string,
  named: TemplateFacts['provider'],
  { settings, providers }: TemplateRules,
): void {
  const wanted = named ?? settings.defaultProvider;
  const possible = providers.all.filter(({ kind }) => wanted === 'auto' || wanted === kind);
  if (possible.every(({ refuseImage }) => refuseImage !== undefined))
    for (const { refuseImage } of possible) refuseImage?.(image);
}
