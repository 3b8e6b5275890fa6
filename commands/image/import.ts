// svc image import
import { Args, Flags } from '@oclif/core';
import { imageStoreHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imagesText, STAGE_WORDS } from '../../src/cli/image-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { importHere } from '../../src/ops/image/stored.ts';

export default class ImageImport extends OperatorCommand {
  static override summary = 'Import images from a file, for userspace sandboxes.';
  static override description =
    'Adds images to the image store of this machine (images.path); no container engine is needed. FILE is the output of `docker save`, an OCI layout as a tar file or a folder, or a tar file of a root file system; plain, or compressed with gzip or zstd. The command recognizes the kind by its content. Device files are skipped. Layers that the store has already are not read again. An existing image of the same name is replaced when the new one is complete; running sandboxes keep the old one.';
  static override examples = [
    'docker save python:3.12-slim | <%= config.bin %> <%= command.id %> -',
    '<%= config.bin %> <%= command.id %> layout.tar --name team/tool:1',
    '<%= config.bin %> <%= command.id %> rootfs.tar.gz --name base --json',
  ];
  static override args = {
    file: Args.string({ description: 'Tar file or folder; - is standard input.', required: true }),
  };
  static override flags = {
    config: configFlag,
    name: Flags.string({
      description: 'Name that spawns use, instead of the names in the file.',
      helpValue: '<name>',
    }),
  };

  async run() {
    const { args, flags } = await this.parse(ImageImport);
    const store = await imageStoreHere(flags.config);
    const images = await this.watched(STAGE_WORDS, (watch) =>
      importHere(store, { source: args.file, name: flags.name, ...watch }),
    );
    if (!images) return this.interrupted();
    return this.show(images, imagesText);
  }
}
