// Whether the image that spawns get who name none is on the engine: known beforehand, so that the first spawn is not what
// finds out.
import type { ProbeReport } from '../provider.ts';
import type { ContainerState } from './state.ts';

/** Of those that are there, in the words of the finding. */
const MOST_NAMED = 3;
/** What we pulled has a second name of ours (pulled-images.ts). */
const HIDDEN = /^(?:<none>|svc-pulled:)/;

/** Undefined where there is no default, or nobody can say. Never throws. */
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
