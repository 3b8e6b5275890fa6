// svc image inspect
import { Args } from '@oclif/core';
import { storeRootHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, serverImages } from '../../src/cli/image-server.ts';
import { imageText } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { inspectHere } from '../../src/ops/image/stored.ts';

export default class ImageInspect extends SvcCommand {
  static override summary = 'Show an image of the image store.';
  static override description =
    'Shows the layers, the platform and the configuration of an image. Sandboxes get its environment; its entrypoint and command are shown only, because a sandbox runs the commands that it is given.';
  static override examples = ['<%= config.bin %> <%= command.id %> python:3.12-slim'];
  static override args = {
    name: Args.string({ description: 'Image name, as in `svc image list`.', required: true }),
  };
  static override flags = { config: configFlag, ...imageServerFlags };

  async run() {
    const { args, flags } = await this.parse(ImageInspect);
    const server = await serverImages(flags);
    if (server) return this.show(await server.images.get(args.name, server.from), imageText);
    const image = inspectHere(storeRootHere(flags.config), args.name);
    return this.show(await withLocalErrors(image), imageText);
  }
}
