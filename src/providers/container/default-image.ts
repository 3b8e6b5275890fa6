// Whether the default image is on the engine, so that a missing image shows before the first spawn.
import type { ProbeReport } from '../provider.ts';
import type { ContainerState } from './state.ts';

/** How many available images the finding names. */
const MOST_NAMED = 3;
/** Images without a name, and the second names of images that we pulled (pulled-images.ts). */
const HIDDEN = /^(?:<none>|svc-pulled:)/;

/** Undefined without a default image, or if the engine does not answer. Never throws. */
export async function defaultImageFinding(
  { images, engine, config, defaultImage }: ContainerState,
  signal: AbortSignal,
): Promise<ProbeReport['findings'][number] | undefined> {
  if (defaultImage === undefined || defaultImage === '') return undefined;
  try {
    if (await images.isPresent(defaultImage, signal))
      return { name: 'image', ok: true, message: `Image ${defaultImage} is available.` };
    const call = { method: 'GET', path: '/images/json', what: 'list images' } as const;
    const others = named(await engine.json(call, signal));
    const what =
      config.pull === 'never'
        ? 'and pulling is disabled'
        : 'and will be pulled by the first sandbox that uses it';
    const there = others.length === 0 ? '' : ` Available: ${others.slice(0, MOST_NAMED).join(', ')}.`;
    return {
      name: 'image',
      ok: false,
      message: `The default image ${defaultImage} is not on the engine, ${what}.${there}`,
    };
  } catch {
    return undefined;
  }
}

function named(answer: unknown): string[] {
  const all = Array.isArray(answer) ? (answer as { RepoTags?: unknown }[]) : [];
  const tags = all.flatMap((image) => (Array.isArray(image?.RepoTags) ? image.RepoTags : []));
  return tags.filter((tag): tag is string => typeof tag === 'string' && !HIDDEN.test(tag));
}
