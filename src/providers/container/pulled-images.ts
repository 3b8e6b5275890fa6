// Images that we pulled, and their removal when nothing has used them for a while or they take too much room. Which those
// are the engine itself remembers: each gets a second name of ours, with the time of its last use in it. What has no such
// name somebody else has brought, and stays.
import { createHash } from 'node:crypto';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply, refusedWith } from './engine-faults.ts';
import { fullName } from './image-name.ts';

const REPOSITORY = 'svc-pulled';
const HOUR_MS = 3_600_000;
/** One that has just been pulled is about to be used. */
const YOUNG_MS = 10 * 60_000;
const MEBIBYTE = 1024 * 1024;
const MAX_LIST = 16 * MEBIBYTE;
const NEVER = new AbortController().signal;

export interface PulledImages {
  /** `id` was pulled for `reference`, which the engine did not have. */
  pulled(reference: string, id: string): Promise<void>;
  /** An image with these names is used; looks now and then for what can go. Never throws, and nobody waits for it. */
  used(id: string, names: readonly string[]): void;
  /** Removes what can go. Never throws. */
  prune(): Promise<void>;
}

export interface PulledImagesDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  instance: { id: string };
  /** 0 is never. */
  afterMs: number;
  /** 0 is no bound. */
  maxMb: number;
}

/** For images that an operator pulls: none is removed later. */
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
        logger.warn({ err: error }, 'unused images are not removed; tried again later'),
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
        logger.debug({ image: id, err: error }, 'the use of an image is not noted'),
      );
      if (isOn && clock.monotonic() - pruned > HOUR_MS) void prune();
    },
  };
}

/** Which name it was pulled by, since a tag cannot hold one. */
const keyOf = (reference: string) =>
  createHash('sha256').update(fullName(reference)).digest('hex').slice(0, 16);

interface Mark {
  name: string;
  instance: string;
  key: string;
  /** ms since 1970 of its last use, to the second. */
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
  await deps.engine.bytes({ method: 'POST', path: `/images/${id}/tag`, query, what: 'name an image' }, NEVER);
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
  /** What it was pulled by. */
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
    // The mark last: while it is there the rest is found again.
    for (const name of [...each.names, ...each.marks.map((one) => one.name)]) await remove(deps, name);
    bytes -= each.bytes;
    logger.info({ image: each.id, names: each.names }, 'removed an image that nothing used');
  }
}

/** Undefined for what we did not pull, and what has a name that we did not pull it by. */
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
  const answer = await engine.json(order, NEVER);
  if (!Array.isArray(answer)) throw invalidEngineReply('a list of the engine is no list', undefined);
  return answer.filter((each) => typeof each === 'object' && each !== null);
}

/** One that is used since, or gone, stays so. */
async function remove({ engine }: PulledImagesDeps, name: string): Promise<void> {
  try {
    await engine.bytes({ method: 'DELETE', path: `/images/${name}`, what: 'remove an image' }, NEVER);
  } catch (error) {
    if (!refusedWith(error, 404, 409)) throw error;
  }
}
