// svc image remove
import { Args, Flags } from '@oclif/core';
import { imagePlacesHere, imageStoreHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, serverImages } from '../../src/cli/image-server.ts';
import { failureLines } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { removeEither } from '../../src/ops/image/stored.ts';
import { IMAGE_PROVIDERS } from '../../src/schema/image-report.ts';

export default class ImageRemove extends SvcCommand {
  static override summary = 'Remove an image.';
  static override description =
    'Removes a name from the image store, with the files that no other image needs, or a disk of microVMs. Refuses to remove an image that a sandbox runs on.';
  static override examples = ['<%= config.bin %> <%= command.id %> debian:12'];
  static override args = {
    name: Args.string({ description: 'Image name, as in `svc image list`.', required: true }),
  };
  static override flags = {
    config: configFlag,
    ...imageServerFlags,
    provider: Flags.option({
      description: 'Provider that runs the image, where two have one of this name.',
      options: IMAGE_PROVIDERS,
      exclusive: ['server'],
    })(),
  };

  async run() {
    const { args, flags } = await this.parse(ImageRemove);
    const server = await serverImages(flags);
    if (server) {
      const removed = await server.images.delete(args.name, server.from);
      this.log([line`Removed ${args.name}.`, ...failureLines(removed.failures)].join('\n'));
      return removed;
    }
    const store = await imageStoreHere(flags.config);
    const places = imagePlacesHere(flags.config);
    const removal = await withLocalErrors(
      removeEither(places, store, { name: args.name, provider: flags.provider }),
    );
    this.log(line`Removed ${removal.name}.`);
    return removal;
  }
}
