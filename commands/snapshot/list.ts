// svc snapshot list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { snapshotTable } from '../../src/cli/image-view.ts';

export default class SnapshotList extends ClientCommand {
  static override summary = 'List the snapshots that microVMs start from.';
  static override description =
    'The first spawn of an image and size creates a snapshot, and later spawns start from it. The server creates, renews and removes snapshots automatically.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(SnapshotList);
    return this.show(await this.connect(flags).system.snapshots(), snapshotTable);
  }
}
