// svc image list
import { imagePlacesHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/flags.ts';
import { imageTable } from '../../src/cli/image-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { imageItems } from '../../src/ops/image/images.ts';
import type { ImageItem } from '../../src/schema/image-report.ts';

export default class ImageList extends SvcCommand<ImageItem[]> {
  static override summary = 'List the images that microVMs of this machine run.';
  static override description =
    'Those in providers.microvm.data_dir, and the files that providers.microvm.images names.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = { config: configFlag };

  async run(): Promise<ImageItem[]> {
    const { flags } = await this.parse(ImageList);
    const images = await imageItems(imagePlacesHere(flags.config));
    this.log(imageTable(images));
    return images;
  }
}
