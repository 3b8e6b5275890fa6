// svc image tag
import { Args } from '@oclif/core';
import { imageStoreHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, serverImages } from '../../src/cli/image-server.ts';
import { failureLines } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { tagHere } from '../../src/ops/image/stored.ts';

export default class ImageTag extends SvcCommand {
  static override summary = 'Give an image of the image store another name.';
  static override description =
    'Both names lead to the same image afterwards. A name that another image had moves to this one.';
  static override examples = ['<%= config.bin %> <%= command.id %> python:3.12-slim team/python:stable'];
  static override args = {
    name: Args.string({ description: 'Image name, as in `svc image list`.', required: true }),
    other: Args.string({ description: 'The other name.', required: true }),
  };
  static override flags = { config: configFlag, ...imageServerFlags };

  async run() {
    const { args, flags } = await this.parse(ImageTag);
    const server = await serverImages(flags);
    if (server) {
      const tagged = await server.images.tag({ name: args.name, as: args.other, ...server.from });
      const names = new Set(tagged.images.map(({ name }) => name));
      const words = [...names].map((name) => line`${name} is ${args.name} now.`);
      this.log([...words, ...failureLines(tagged.failures)].join('\n'));
      return tagged;
    }
    const store = await imageStoreHere(flags.config);
    const image = await withLocalErrors(tagHere(store, args.name, args.other));
    this.log(line`${image.name} is ${args.name} now.`);
    return image;
  }
}
