// Whether spawns of stored templates can get their image: a template stays as it is when a policy or the images change.
import { PROVIDER_KINDS, type ProviderKind } from '../../../schema/provider.ts';
import type { TemplateImage } from '../../../store/sqlite/offline-reads.ts';
import { type Check, type CheckContext, type Finding, pass, warn } from '../check.ts';
import { PROBE_DEADLINE_MS } from './provider.ts';

const MOST_NAMED = 20;

export const TEMPLATE_IMAGES: Check = {
  name: 'template_images',
  title: 'Images of templates',
  deadlineMs: PROBE_DEADLINE_MS * PROVIDER_KINDS.length,
  look: async (context, signal) => {
    const templates = await context.templateImages(context.config.database.path);
    const refused: string[] = [];
    for (const template of templates)
      if (await isRefused(context, template, signal)) refused.push(`${template.name} (${template.image})`);
    return refused.length === 0 ? pass('Providers accept the images of all templates.') : refusal(refused);
  },
};

function refusal(refused: readonly string[]): Finding {
  const more = refused.length > MOST_NAMED ? ` and ${refused.length - MOST_NAMED} more` : '';
  return warn(
    `Spawns of these templates fail because no provider accepts the image: ${refused.slice(0, MOST_NAMED).join(', ')}${more}.`,
    'Change the image with svc template update, make it available, or add it to providers.container.allowed_images.',
  );
}

/** Whether every enabled provider that could run the template refuses its image. */
async function isRefused(
  context: CheckContext,
  { image, provider }: TemplateImage,
  signal: AbortSignal,
): Promise<boolean> {
  const { providers } = context.config;
  const wanted = provider ?? providers.default;
  const kinds = PROVIDER_KINDS.filter(
    (kind) => providers[kind].enabled && (wanted === 'auto' || wanted === kind),
  );
  for (const kind of kinds) if (await accepts(context, { kind, image }, signal)) return false;
  return kinds.length > 0;
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
  return images.includes('*') || images.includes(image);
}
