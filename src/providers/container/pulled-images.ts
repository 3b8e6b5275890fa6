// Removes images that we pulled when they are unused for a while or take too much space. The engine stores which images
// those are: each gets a second name with the time of its last use. Images without such a name are never removed.
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply, refusedWith } from './engine-faults.ts';
import { fullName } from './image-name.ts';

const REPOSITORY = 'svc-pulled';
const HOUR_MS = 3_600_000;
/** An image that has just been pulled is about to be used. */
const YOUNG_MS = 10 * 60_000;
const MEBIBYTE = 1024 * 1024;
const MAX_LIST = 16 * MEBIBYTE;

export interface PulledImages {
  /** Records that image `id` was pulled for `reference`. */
  pulled(reference: string, id: string): Promise<void>;
  /** Records the use of an image in the background and prunes from time to time. Never throws. */
  used(id: string, names: readonly string[]): void;
  /** Removes unused images. Never throws. */
  prune(): Promise<void>;
}

interface PulledImagesDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  instance: { id: string };
  /** 0 disables removal by age. */
  afterMs: number;
  /** 0 disables removal by size. */
  maxMb: number;
}

/** For images that an operator pulls: they are never removed. */
export const notTracked: PulledImages = { pulled: async () => {}, used: () => {}, prune: async () => {} };

export function pulledImages(deps: PulledImagesDeps): PulledImages {
  const { clock, logger, afterMs, maxMb } = deps;
  const isOn = afterMs > 0 || maxMb > 0;
  let pruned = Number.NEGATIVE_INFINITY;
  let pruning: Promise<void> | undefined;
  const prune = () => {
    pruned = clock.monotonic();
    pruning ??= removeOld(deps)
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'Could not remove unused images; retrying later.'),
      )
      .finally(() => {
        pruning = undefined;
      });
    return pruning;
  };
  return {
    prune,
    pulled: async (reference, id) => {
      await mark(deps, id, keyOf(reference));
      if (isOn) void prune();
    },
    used: (id, names) => {
      void renew(deps, id, names).catch((error: unknown) =>
        logger.debug(
          { image: id, err: error },
          'Could not record the use of an image; it may be removed as unused too early.',
        ),
      );
      if (isOn && clock.monotonic() - pruned > HOUR_MS) void prune();
    },
  };
}

/** A hash of the name that it was pulled by: a tag cannot hold the name itself. */
const keyOf = (reference: string) =>
  createHash('sha256').update(fullName(reference)).digest('hex').slice(0, 16);

interface Mark {
  name: string;
  instance: string;
  key: string;
  /** Time of the last use in ms since 1970, rounded to seconds. */
  at: number;
}

function markOf(name: string): Mark | undefined {
  const [, instance, key, at] = /^svc-pulled:([0-9a-f]{12})-([0-9a-f]{16})-(\d{1,12})$/.exec(name) ?? [];
  if (instance === undefined || key === undefined) return undefined;
  return { name, instance, key, at: Number(at) * 1000 };
}

const shortInstance = ({ instance }: PulledImagesDeps) => instance.id.replaceAll('-', '').slice(0, 12);

async function mark(deps: PulledImagesDeps, id: string, key: string): Promise<void> {
  const tag = `${shortInstance(deps)}-${key}-${Math.floor(deps.clock.now() / 1000)}`;
  const query = { repo: REPOSITORY, tag };
  await deps.engine.bytes({ method: 'POST', path: `/images/${id}/tag`, query, what: 'name an image' });
}

async function renew(deps: PulledImagesDeps, id: string, names: readonly string[]): Promise<void> {
  for (const old of ownMarks(deps, names)) {
    if (deps.clock.now() - old.at < HOUR_MS) continue;
    await mark(deps, id, old.key);
    await remove(deps, old.name);
  }
}

const ownMarks = (deps: PulledImagesDeps, names: readonly string[]) =>
  names.map(markOf).filter((each) => each !== undefined && each.instance === shortInstance(deps)) as Mark[];

interface ListedImage {
  Id: string;
  ParentId?: string;
  RepoTags?: string[] | null;
  RepoDigests?: string[] | null;
  Size?: number;
}

interface Candidate {
  id: string;
  bytes: number;
  usedAt: number;
  marks: Mark[];
  /** The names that it was pulled by. */
  names: string[];
}

async function removeOld(deps: PulledImagesDeps): Promise<void> {
  const { clock, logger, afterMs, maxMb } = deps;
  const images = (await listed(deps, '/images/json')) as ListedImage[];
  const inUse = new Set([
    ...((await listed(deps, '/containers/json', { all: 1 })) as { ImageID?: string }[]).map(
      (one) => one.ImageID,
    ),
    ...images.map(({ ParentId }) => ParentId),
  ]);
  const ours = images.map((image) => candidate(deps, image)).filter((each) => each !== undefined);
  let bytes = ours.reduce((sum, each) => sum + each.bytes, 0);
  const unused = ours.filter(({ id, usedAt }) => !inUse.has(id) && clock.now() - usedAt > YOUNG_MS);
  for (const each of unused.sort((one, other) => one.usedAt - other.usedAt)) {
    const isOld = afterMs > 0 && clock.now() - each.usedAt > afterMs;
    if (!isOld && (maxMb === 0 || bytes <= maxMb * MEBIBYTE)) continue;
    // The mark is removed last: an interrupted removal is found again by it.
    for (const name of [...each.names, ...each.marks.map((one) => one.name)]) await remove(deps, name);
    bytes -= each.bytes;
    logger.info({ image: each.id, names: each.names }, 'Removed an unused image.');
  }
}

/** Undefined for images that we did not pull, and for images with another name. */
function candidate(deps: PulledImagesDeps, image: ListedImage): Candidate | undefined {
  const tags = (image.RepoTags ?? []).filter((name) => name !== '<none>:<none>');
  const marks = ownMarks(deps, tags);
  if (marks.length === 0) return undefined;
  const isOurs = (name: string) => marks.some(({ key }) => key === keyOf(name));
  const names = tags.filter((name) => markOf(name) === undefined);
  const digests = (image.RepoDigests ?? []).filter((name) => !name.startsWith('<none>'));
  if (names.some((name) => !isOurs(name))) return undefined;
  const usedAt = Math.max(...marks.map(({ at }) => at));
  const all = [...names, ...digests.filter(isOurs)];
  return { id: image.Id, bytes: image.Size ?? 0, usedAt, marks, names: all };
}

async function listed({ engine }: PulledImagesDeps, path: string, query = {}): Promise<object[]> {
  const order = { method: 'GET', path, query, what: 'list images', maxBytes: MAX_LIST } as const;
  const answer = await engine.json(order);
  if (!Array.isArray(answer)) throw invalidEngineReply('a list of the engine is not a list', undefined);
  return answer.filter((each) => typeof each === 'object' && each !== null);
}

/** Ignores images that are in use again or already removed. */
async function remove({ engine }: PulledImagesDeps, name: string): Promise<void> {
  try {
    await engine.bytes({ method: 'DELETE', path: `/images/${name}`, what: 'remove an image' });
  } catch (error) {
    if (!refusedWith(error, 404, 409)) throw error;
  }
}
