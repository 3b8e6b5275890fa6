// Uids of sandboxes under a server of root. A claim is a link that leads nowhere and says whose it is: it is made with its
// text in one step, so that no two servers of this host hand out the same uid and none is left without an owner.
import { readdir, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Random } from '../../domain/ports.ts';
import type { InstanceFolders } from './instance-folders.ts';

/** Outside, a sandbox has a uid of its own above every range that hosts hand out. */
export const UID_BASE = 1_879_048_192;
const UID_SLOTS = 65_536;
/** The VM of a pool takes a block of as many, above those of single sandboxes and below 2^31, where some programs stop. */
export const POOL_UIDS = 65_536;
const POOL_BLOCKS = 4095;
/** Inside, it is one ordinary user, in a user namespace that maps nobody else. */
export const INSIDE_UID = 1000;
export const INSIDE_GID = 1000;

const SLOT = /^\d{1,9}$/;

/** Claims a free uid for the runtime `name`, as its distance from UID_BASE. Throws `resource_limit` when all are taken. */
export function claimSlot(folders: InstanceFolders, name: string, random: Random): Promise<number> {
  return claimFree({ folders, name, random }, UID_SLOTS, (number) => number);
}

/** The same for a block of POOL_UIDS: the distance of its first. */
export function claimBlock(folders: InstanceFolders, name: string, random: Random): Promise<number> {
  return claimFree({ folders, name, random }, POOL_BLOCKS, (number) => (number + 1) * POOL_UIDS);
}

async function claimFree(
  { folders, name, random }: { folders: InstanceFolders; name: string; random: Random },
  count: number,
  slotOf: (number: number) => number,
): Promise<number> {
  // Beginning anywhere spares the walk over taken ones, and a uid is not soon used again.
  const start = random.bytes(2).readUInt16LE() % count;
  for (let step = 0; step < count; step += 1) {
    const slot = slotOf((start + step) % count);
    if (await claim(join(folders.uids, `${slot}`), claimText(folders, name))) return slot;
  }
  throw new ServiceError('resource_limit', 'All uids for sandboxes are in use.', {
    remedy: 'Destroy sandboxes that are no longer needed.',
  });
}

/** Those of the runtime, as their distances from UID_BASE. */
export async function slotsOf(folders: InstanceFolders, name: string): Promise<number[]> {
  const slots = (await readdir(folders.uids).catch(() => [])).filter((slot) => SLOT.test(slot));
  const texts = await Promise.all(slots.map((slot) => readlink(join(folders.uids, slot)).catch(() => '')));
  return slots.filter((_, i) => texts[i] === claimText(folders, name)).map(Number);
}

/** Gives back the slots of this instance whose runtime's name `isStale`; those of others are never touched. */
export async function sweepSlots(
  folders: InstanceFolders,
  isStale: (name: string) => boolean,
): Promise<void> {
  for (const slot of await readdir(folders.uids).catch(() => [])) {
    if (!SLOT.test(slot)) continue;
    const path = join(folders.uids, slot);
    const [short, name = ''] = (await readlink(path).catch(() => '')).split(' ');
    if (short === folders.short && isStale(name)) await rm(path, { force: true });
  }
}

/** Gives back the slot of the runtime, or every slot where a server of root does not know it. Idempotent. */
export async function releaseSlots(
  { folders, host }: { folders: InstanceFolders; host: { uid: number } },
  name: string,
  slot: number | undefined,
): Promise<void> {
  if (slot === undefined)
    return host.uid === 0 ? sweepSlots(folders, (claimed) => claimed === name) : undefined;
  const path = join(folders.uids, `${slot}`);
  // Somebody else may have claimed it since.
  const text = await readlink(path).catch(() => '');
  if (text === claimText(folders, name)) await rm(path, { force: true });
}

function claimText(folders: InstanceFolders, name: string): string {
  return `${folders.short} ${name}`;
}

async function claim(path: string, text: string): Promise<boolean> {
  try {
    await symlink(text, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new ServiceError('provider_error', 'Could not claim a uid for the sandbox.', { cause: error });
  }
}
