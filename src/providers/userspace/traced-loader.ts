// The loader with which proot starts every program: a file in /tmp as long as proot lives. It is left behind when proot is
// killed, and 5.1 puts it there whatever PROOT_TMP_DIR says.
import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { slotsOf, UID_BASE } from '../local/uid-slots.ts';
import type { RuntimeRecord } from './record.ts';
import type { UserspaceState } from './state.ts';

/** Compiled into proot. */
const FOLDER = '/tmp';
const LOADER = /^prooted-(\d+)-\w{6}$/;

/**
 * Removes the loader of a runtime whose processes have ended: what has a uid of its own, and under an ordinary user's server
 * what names the proot of its record. Idempotent, never throws.
 */
export async function removeLoader(
  state: UserspaceState,
  name: string,
  record: RuntimeRecord | undefined,
): Promise<void> {
  const slots = state.host.uid === 0 ? await slotsOf(state.folders, name) : [];
  const isItsOwn = (pid: number, uid: number) =>
    slots.includes(uid - UID_BASE) || (uid === state.host.uid && pid === record?.runner_pid);
  for (const entry of await readdir(FOLDER).catch(() => [])) {
    const pid = Number(LOADER.exec(entry)?.[1]);
    const path = join(FOLDER, entry);
    const facts = pid > 0 ? await lstat(path).catch(() => undefined) : undefined;
    if (facts && isItsOwn(pid, facts.uid)) await unlink(path).catch(() => undefined);
  }
}
