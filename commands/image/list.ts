// svc image list
import { imagePlacesHere, storeRootHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageTable } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { allImages } from '../../src/ops/image/stored.ts';

export default class ImageList extends SvcCommand {
  static override summary = 'List the images of this machine.';
  static override description =
    'Lists the image store in images.path, which userspace sandboxes start from, and the disks of microVMs: those in providers.microvm.data_dir and the files in providers.microvm.images.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = { config: configFlag };

  async run() {
    const { flags } = await this.parse(ImageList);
    const images = allImages(imagePlacesHere(flags.config), storeRootHere(flags.config));
    return this.show(await withLocalErrors(images), imageTable);
  }
}
