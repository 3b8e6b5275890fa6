// svc snapshot list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { snapshotTable } from '../../src/cli/snapshot-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Snapshot } from '../../src/schema/snapshot.ts';

export default class SnapshotList extends SvcCommand<Snapshot[]> {
  static override summary = 'List the snapshots that microVMs start from.';
  static override description =
    'The first spawn of an image and size creates a snapshot, and later spawns start from it. The server creates, renews and removes snapshots automatically.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Snapshot[]> {
    const { flags } = await this.parse(SnapshotList);
    const snapshots = await connect(flags).system.snapshots();
    this.log(snapshotTable(snapshots));
    return snapshots;
  }
}
