// What providers keep to restore sandboxes from (docs/design/api.md#snapshots).
import type { ProviderSet } from '../../providers/provider.ts';
import type { Snapshot } from '../../schema/snapshot.ts';
import type { SnapshotViews } from '../api/system.ts';

/** Lists the snapshots of all providers, newest first. Throws what a provider throws. */
export function snapshotViews({ providers }: { providers: Pick<ProviderSet, 'all'> }): SnapshotViews {
  return {
    list: async () => {
      const signal = new AbortController().signal;
      const found = await Promise.all(
        providers.all.map(async (provider): Promise<Snapshot[]> => {
          const snapshots = (await provider.snapshots?.(signal)) ?? [];
          return snapshots.map((snapshot) => ({ ...snapshot, provider: provider.kind }));
        }),
      );
      return found.flat().sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
    },
  };
}
