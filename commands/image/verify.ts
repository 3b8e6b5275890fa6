// svc image verify
import { Args } from '@oclif/core';
import { imageStoreHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { STAGE_WORDS, verifiedText } from '../../src/cli/image-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { verifyHere } from '../../src/ops/image/stored.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class ImageVerify extends OperatorCommand {
  static override summary = 'Compare the files of stored images with their records.';
  static override description =
    `Compares every file, folder and link of the image store with what was recorded when it was unpacked: its type, size, mode, owner, time of modification, link target and hard links. Files that are missing or were added are found, too. Changes of content that keep size and time are not found. Exits with ${FOUND} when something differs. Sandboxes may run meanwhile; nothing that they use is changed.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> python:3.12-slim --json',
  ];
  static override args = {
    name: Args.string({ description: 'Image name, as in `svc image list`; all images by default.' }),
  };
  static override flags = { config: configFlag };

  async run() {
    const { args, flags } = await this.parse(ImageVerify);
    const store = await imageStoreHere(flags.config);
    const report = await this.watched(STAGE_WORDS, (watch) =>
      verifyHere(store, { name: args.name, ...watch }),
    );
    if (!report) return this.interrupted();
    this.log(verifiedText(report));
    if (!report.ok) process.exitCode = FOUND;
    return report;
  }
}
