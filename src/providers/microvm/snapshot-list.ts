// Lists the snapshots with their sizes.
import { stat } from 'node:fs/promises';
import type { RuntimeSnapshot } from '../provider.ts';
import type { Snapshot } from './snapshot.ts';
import { completeSnapshots } from './snapshot-prune.ts';
import type { MicrovmState } from './state.ts';

/** stat(2) counts in these whatever the file system's own blocks are. */
const BLOCK = 512;

/** The oldest first. */
export async function listSnapshots(state: MicrovmState): Promise<RuntimeSnapshot[]> {
  await state.checkDataFolder();
  const snapshots = await completeSnapshots(state.folders);
  const found = await Promise.all(snapshots.map(snapshotOf));
  return found.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
}

async function snapshotOf(snapshot: Snapshot): Promise<RuntimeSnapshot> {
  const { facts, created_at } = snapshot.record;
  const files = [snapshot.memory, snapshot.state, snapshot.overlay].filter((file) => file !== undefined);
  const sizes = await Promise.all(files.map(bytesOn));
  const size = sizes.reduce((sum, bytes) => sum + bytes, 0);
  return { image: facts.image, kernel: facts.kernel, size, created_at };
}

/** Holes take nothing. One that was just removed takes nothing either. */
async function bytesOn(file: string): Promise<number> {
  const facts = await stat(file).catch(() => undefined);
  return (facts?.blocks ?? 0) * BLOCK;
}
