// svc image list
import { imagePlacesHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageTable } from '../../src/cli/image-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { imageItems } from '../../src/ops/image/images.ts';

export default class ImageList extends SvcCommand {
  static override summary = 'List the microVM images of this machine.';
  static override description =
    'Lists the images in providers.microvm.data_dir and the files in providers.microvm.images.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = { config: configFlag };

  async run() {
    const { flags } = await this.parse(ImageList);
    return this.show(await imageItems(imagePlacesHere(flags.config)), imageTable);
  }
}
