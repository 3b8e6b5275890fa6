// svc image build
import { Args, Flags } from '@oclif/core';
import { imageBuildHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/flags.ts';
import { imageBuiltText, STAGE_WORDS } from '../../src/cli/image-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { parseDiskSize } from '../../src/cli/size-flag.ts';
import { buildImage } from '../../src/ops/image/build.ts';
import type { ImageSource } from '../../src/ops/image/stage.ts';
import type { ImageBuildReport } from '../../src/schema/image-report.ts';

interface SourceFlags {
  'from-container'?: string | undefined;
  'from-tar'?: string | undefined;
  'from-dir'?: string | undefined;
}

export default class ImageBuild extends OperatorCommand<ImageBuildReport> {
  static override summary = 'Make an image that microVMs run, from a container image, a tar or a folder.';
  static override description =
    'Makes an ext4 file system in providers.microvm.data_dir, with e2fsprogs alone: no root, no mounts. Without a --from flag NAME is an image of the container engine, which is pulled when the engine lacks it. Owners, modes, links and capabilities are kept from containers and tars, whoever builds; device files are left out. From a folder, root keeps every owner, and files of another user who builds belong to root. An image of that name is replaced once the new one is whole; guests that run on it go on.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> debian:12',
    '<%= config.bin %> <%= command.id %> base --from-tar rootfs.tar.xz --size 2GiB',
    'docker export $(docker create alpine) | <%= config.bin %> <%= command.id %> alpine --from-tar -',
    '<%= config.bin %> <%= command.id %> base --from-dir ./rootfs --json',
  ];
  static override args = {
    name: Args.string({ description: 'What spawns name it.', required: true }),
  };
  static override flags = {
    config: configFlag,
    'from-container': Flags.string({
      description: 'Image of the container engine that providers.container names.',
      exclusive: ['from-tar', 'from-dir'],
      helpValue: '<image>',
    }),
    'from-tar': Flags.string({
      description: 'Tar of a root file system, plain or packed; - is standard input.',
      exclusive: ['from-container', 'from-dir'],
      helpValue: '<file>',
    }),
    'from-dir': Flags.string({
      description: 'Folder that is a root file system.',
      exclusive: ['from-container', 'from-tar'],
      helpValue: '<folder>',
    }),
    size: Flags.string({
      description: 'Size of the image, such as 2GiB; else as small as its contents allow.',
      helpValue: '<size>',
    }),
  };

  async run(): Promise<ImageBuildReport | { interrupted: true }> {
    const { args, flags } = await this.parse(ImageBuild);
    const size = flags.size === undefined ? undefined : parseDiskSize(flags.size);
    const build = { name: args.name, source: sourceOf(args.name, flags), size };
    const report = await this.watched(STAGE_WORDS, (watch) =>
      buildImage({ ...build, ...watch }, imageBuildHere(flags.config)),
    );
    if (!report) return this.interrupted();
    this.log(imageBuiltText(report));
    return report;
  }
}

function sourceOf(name: string, flags: SourceFlags): ImageSource {
  const { 'from-container': reference = name, 'from-tar': tar, 'from-dir': dir } = flags;
  if (tar !== undefined) return { kind: 'tar', path: tar };
  return dir === undefined ? { kind: 'container', reference } : { kind: 'dir', path: dir };
}
