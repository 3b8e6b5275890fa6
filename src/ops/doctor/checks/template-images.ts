// Whether spawns of stored templates can get their image: a template stays as it is when a policy or the images change.
import { imageForms } from '../../../domain/image-name.ts';
import type { Provider } from '../../../providers/provider.ts';
import type { PullPolicy } from '../../../schema/image-policy.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../../schema/provider.ts';
import type { TemplateImage } from '../../../store/offline-records.ts';
import { type Check, type CheckContext, type Finding, named, pass, warn } from '../check.ts';
import { PROBE_DEADLINE_MS } from './provider.ts';

export const TEMPLATE_IMAGES: Check = {
  name: 'template_images',
  title: 'Images of templates',
  deadlineMs: PROBE_DEADLINE_MS * PROVIDER_KINDS.length,
  look: async (context, signal) => {
    const templates = await context.templateImages(context.config.database);
    const outcomes: Record<Outcome, string[]> = { accepted: [], absent: [], refused: [] };
    for (const template of templates)
      outcomes[await outcomeOf(context, template, signal)].push(`${template.name} (${template.image})`);
    const { refused, absent } = outcomes;
    if (refused.length > 0) return refusal(refused);
    return absent.length > 0
      ? absence(absent, context.config.images.pull)
      : pass('Providers accept the images of all templates.');
  },
};

/** `absent`: a provider accepts the image, and does not have it. */
type Outcome = 'accepted' | 'absent' | 'refused';

function refusal(refused: readonly string[]): Finding {
  return warn(
    `Spawns of these templates fail because no provider accepts the image: ${named(refused)}.`,
    'Change the image with svc template update, make it available, or add it to providers.container.allowed_images.',
  );
}

function absence(absent: readonly string[], pull: PullPolicy): Finding {
  return pull === 'never'
    ? warn(
        `Spawns of these templates run on the default root because the image is not on this machine: ${named(absent)}.`,
        'Get the images with svc image pull or svc image import.',
      )
    : warn(
        `Spawns of these templates first pull the image, and fail if that is not possible: ${named(absent)}.`,
        'Get the images with svc image pull. To run such spawns on the default root, set images.pull to never.',
      );
}

/** The best outcome among the enabled providers that could run the template. */
async function outcomeOf(
  context: CheckContext,
  { image, provider }: TemplateImage,
  signal: AbortSignal,
): Promise<Outcome> {
  const { providers } = context.config;
  const wanted = provider ?? providers.default;
  const kinds = PROVIDER_KINDS.filter(
    (kind) => providers[kind].enabled && (wanted === 'auto' || wanted === kind),
  );
  let isAbsent = false;
  for (const kind of kinds) {
    if (await accepts(context, { kind, image }, signal)) return 'accepted';
    isAbsent ||= kind === 'userspace';
  }
  if (kinds.length === 0) return 'accepted';
  return isAbsent ? 'absent' : 'refused';
}

/** A provider that is not healthy may not know its images: another check reports it. */
async function accepts(
  context: CheckContext,
  { kind, image }: { kind: ProviderKind; image: string },
  signal: AbortSignal,
): Promise<boolean> {
  const provider = await context.provider(kind);
  if (provider.refuseImage) {
    try {
      provider.refuseImage(image);
      return true;
    } catch {
      return false;
    }
  }
  if (!(await context.probe(kind, signal)).healthy) return true;
  const { images } = provider.describe();
  if (images.includes('*') || images.includes(image)) return true;
  return kind === 'userspace' && hasImage(context, provider, image, signal);
}

/** The default image stands for the default root. */
async function hasImage(
  { config }: CheckContext,
  provider: Provider,
  image: string,
  signal: AbortSignal,
): Promise<boolean> {
  const stored = (await provider.presentImages?.(signal).catch(() => [])) ?? [];
  const known = [...imageForms(config.defaults.image), ...stored];
  return imageForms(image).some((form) => known.includes(form));
}
