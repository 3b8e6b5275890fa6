// svc image prune
import { Flags } from '@oclif/core';
import { imageStoreHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, serverImages } from '../../src/cli/image-server.ts';
import { failureLines, pruneText } from '../../src/cli/image-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { parseDuration } from '../../src/domain/duration.ts';
import { pruneHere } from '../../src/ops/image/stored.ts';

export default class ImagePrune extends SvcCommand {
  static override summary = 'Remove unused images from the image store.';
  static override description =
    'Removes images that no sandbox started on for some time, layers that no image needs, and what interrupted imports and pulls left. Images that sandboxes run on stay.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run',
    '<%= config.bin %> <%= command.id %> --unused-for 168h',
    '<%= config.bin %> <%= command.id %> --all',
  ];
  static override flags = {
    config: configFlag,
    ...imageServerFlags,
    'unused-for': Flags.string({
      description: 'How long an image must be unused.',
      default: '720h',
      helpValue: '<duration>',
      exclusive: ['all'],
    }),
    all: Flags.boolean({ description: 'Remove every image that no sandbox runs on.' }),
    'dry-run': Flags.boolean({ description: 'Only show the images that would be removed.' }),
  };

  async run() {
    const { flags } = await this.parse(ImagePrune);
    const server = await serverImages(flags);
    if (server) {
      const { all, 'unused-for': unused_for, 'dry-run': dry_run } = flags;
      const which = all ? { all } : { unused_for };
      const pruned = await server.images.prune({ ...which, dry_run, ...server.from });
      this.log([pruneText(pruned, dry_run), ...failureLines(pruned.failures)].join('\n'));
      return pruned;
    }
    const unusedForMs = flags.all ? 0 : parseDuration(flags['unused-for'], '--unused-for');
    const store = await imageStoreHere(flags.config);
    const dryRun = flags['dry-run'];
    const removal = await withLocalErrors(pruneHere(store, { unusedForMs, dryRun }));
    this.log(pruneText(removal, dryRun));
    return removal;
  }
}
