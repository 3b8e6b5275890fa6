// What `prewarm.auto` keeps ready: as many of each shape as came together lately, within its limits.
import type { Provider } from '../../providers/provider.ts';
import type { Peak, PlainRequest } from '../runtime/demand.ts';
import { type ChooseDeps, chooseProvider } from '../spawn/choose.ts';

/** The part of the room that one owner can fill. Spawns without an owner are those of the operator. */
const OWNER_PART = 4;

export interface AutoSettings {
  max: number;
  memory_mb: number;
}

/** What its image is now; undefined where it cannot be kept ready, or nobody can tell. */
export const imageIdOf = async (
  provider: Provider,
  { image }: { image?: string | undefined },
): Promise<string | undefined> => provider.imageId?.({ image }, new AbortController().signal);

export interface AutoWant {
  request: PlainRequest;
  provider: Provider;
  count: number;
  /** What the image is now, where the provider can tell. */
  imageId: string | undefined;
}

/** Shapes that were spawned last come first where there is no room for all. */
export async function autoWants(
  deps: ChooseDeps,
  peaks: readonly Peak[],
  { max, memory_mb }: AutoSettings,
): Promise<AutoWant[]> {
  const left = new Map<string, number>();
  const ownerMost = Math.max(1, Math.floor(max / OWNER_PART));
  let [room, memory] = [max, memory_mb];
  const wants: AutoWant[] = [];
  for (const { request, owners } of peaks) {
    let count = 0;
    for (const [owner, spawns] of owners) {
      const most = owner === '' ? room : (left.get(owner) ?? ownerMost);
      const given = Math.min(spawns, most);
      if (owner !== '') left.set(owner, most - given);
      count += given;
    }
    count = Math.min(count, room, Math.floor(memory / (request.memory_mb ?? 1)));
    if (count === 0) continue;
    const provider = await chooseProvider(deps, request.provider);
    const imageId = await imageIdOf(provider, request);
    if (provider.imageId && imageId === undefined) continue;
    room -= count;
    memory -= count * (request.memory_mb ?? 0);
    wants.push({ request, count, provider, imageId });
  }
  return wants;
}
