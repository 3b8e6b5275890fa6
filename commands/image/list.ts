// svc image list
import { imagePlacesHere, storeRootHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, listedAt, serverImages } from '../../src/cli/image-server.ts';
import { imageTable, serverImageTable } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { allImages } from '../../src/ops/image/stored.ts';

export default class ImageList extends SvcCommand {
  static override summary = 'List the images of this machine.';
  static override description =
    'Lists the image store in images.path, which userspace sandboxes start from, and the disks of microVMs: those in providers.microvm.data_dir and the files in providers.microvm.images. With --server it lists the image stores of a server and its workers.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --server http://127.0.0.1:7423',
  ];
  static override flags = { config: configFlag, ...imageServerFlags };

  async run() {
    const { flags } = await this.parse(ImageList);
    const server = await serverImages(flags);
    if (server) return this.show(await listedAt(server), serverImageTable);
    const images = allImages(imagePlacesHere(flags.config), storeRootHere(flags.config));
    return this.show(await withLocalErrors(images), imageTable);
  }
}
