// svc image list
import { imagePlacesHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/flags.ts';
import { imageTable } from '../../src/cli/image-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { imageItems } from '../../src/ops/image/images.ts';
import type { ImageItem } from '../../src/schema/image-report.ts';

export default class ImageList extends SvcCommand<ImageItem[]> {
  static override summary = 'List the microVM images of this machine.';
  static override description =
    'Lists the images in providers.microvm.data_dir and the files in providers.microvm.images.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = { config: configFlag };

  async run(): Promise<ImageItem[]> {
    const { flags } = await this.parse(ImageList);
    const images = await imageItems(imagePlacesHere(flags.config));
    this.log(imageTable(images));
    return images;
  }
}
