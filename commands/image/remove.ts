// svc image remove
import { Args } from '@oclif/core';
import { imagePlacesHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { dropImage } from '../../src/ops/image/images.ts';

export default class ImageRemove extends SvcCommand {
  static override summary = 'Remove a microVM image.';
  static override description = 'Refuses to remove an image that a running guest uses.';
  static override examples = ['<%= config.bin %> <%= command.id %> debian:12'];
  static override args = {
    name: Args.string({ description: 'Image name, as in `svc image list`.', required: true }),
  };
  static override flags = { config: configFlag };

  async run() {
    const { args, flags } = await this.parse(ImageRemove);
    const image = await withLocalErrors(dropImage(imagePlacesHere(flags.config), args.name));
    this.log(line`Removed ${image.name}.`);
    return image;
  }
}
