// Uids of sandboxes under a server of root. A claim is a link that leads nowhere and says whose it is: it is made with its
// text in one step, so that no two servers of this host hand out the same uid and none is left without an owner.
import { readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Random } from '../../domain/ports.ts';
import { POOL_BLOCKS, POOL_UIDS, UID_SLOTS } from './identity.ts';
import type { Places } from './places.ts';

const SLOT = /^\d{1,9}$/;

/** Claims a free uid for the runtime `name`, as its distance from UID_BASE. Throws `resource_limit` when all are taken. */
export function claimSlot(places: Places, name: string, random: Random): Promise<number> {
  return claimFree({ places, name, random }, UID_SLOTS, (number) => number);
}

/** The same for a block of POOL_UIDS: the distance of its first. */
export function claimBlock(places: Places, name: string, random: Random): Promise<number> {
  return claimFree({ places, name, random }, POOL_BLOCKS, (number) => (number + 1) * POOL_UIDS);
}

async function claimFree(
  { places, name, random }: { places: Places; name: string; random: Random },
  count: number,
  slotOf: (number: number) => number,
): Promise<number> {
  // Beginning anywhere spares the walk over taken ones, and a uid is not soon used again.
  const start = random.bytes(2).readUInt16LE() % count;
  for (let step = 0; step < count; step += 1) {
    const slot = slotOf((start + step) % count);
    if (await claim(join(places.uids, `${slot}`), claimText(places, name))) return slot;
  }
  throw new ServiceError('resource_limit', 'All uids for sandboxes are in use.', {
    remedy: 'Destroy sandboxes that are no longer needed.',
  });
}

/** Those of the runtime, as their distances from UID_BASE. */
export async function slotsOf(places: Places, name: string): Promise<number[]> {
  const slots = (await readdir(places.uids).catch(() => [])).filter((slot) => SLOT.test(slot));
  const texts = await Promise.all(slots.map((slot) => readlink(join(places.uids, slot)).catch(() => '')));
  return slots.filter((_, i) => texts[i] === claimText(places, name)).map(Number);
}

/** Gives back every slot of the runtime. Idempotent. */
export async function releaseSlots(places: Places, name: string): Promise<void> {
  await sweepSlots(places, (claimed) => claimed === name);
}

/** Gives back the slots of this instance whose runtime's name `isStale`; those of others are never touched. */
export async function sweepSlots(places: Places, isStale: (name: string) => boolean): Promise<void> {
  for (const slot of await readdir(places.uids).catch(() => [])) {
    if (!SLOT.test(slot)) continue;
    const path = join(places.uids, slot);
    const [short, name = ''] = (await readlink(path).catch(() => '')).split(' ');
    if (short === places.short && isStale(name)) await rm(path, { force: true });
  }
}

/** One slot, known by number. Idempotent; a slot that somebody else has claimed since is left alone. */
export async function releaseSlot(places: Places, slot: number, name: string): Promise<void> {
  const path = join(places.uids, `${slot}`);
  const text = await readlink(path).catch(() => '');
  if (text === claimText(places, name)) await rm(path, { force: true });
}

function claimText(places: Places, name: string): string {
  return `${places.short} ${name}`;
}

async function claim(path: string, text: string): Promise<boolean> {
  try {
    await symlink(text, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new ServiceError('provider_error', 'A uid for the sandbox could not be claimed.', { cause: error });
  }
}
