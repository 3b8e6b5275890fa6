// svc image build
import { Args, Flags } from '@oclif/core';
import { imageBuildHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageBuiltText, STAGE_WORDS } from '../../src/cli/image-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { parseDiskSize } from '../../src/cli/size-flag.ts';
import { buildImage } from '../../src/ops/image/build.ts';
import type { ImageSource } from '../../src/ops/image/stage.ts';

interface SourceFlags {
  'from-container'?: string | undefined;
  'from-tar'?: string | undefined;
  'from-dir'?: string | undefined;
}

export default class ImageBuild extends OperatorCommand {
  static override summary = 'Build a microVM image from a container image, a tar file or a folder.';
  static override description =
    'Builds an ext4 file system in providers.microvm.data_dir with e2fsprogs, without root and without mounts. Without a --from flag, NAME is an image of the container engine, which pulls it if needed. Container images and tar files keep owners, modes, links and capabilities; device files are skipped. A folder built by root keeps all owners; built by another user, all files belong to root. An existing image of that name is replaced when the new one is complete; running guests keep the old one.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> debian:12',
    '<%= config.bin %> <%= command.id %> base --from-tar rootfs.tar.xz --size 2GiB',
    'docker export $(docker create alpine) | <%= config.bin %> <%= command.id %> alpine --from-tar -',
    '<%= config.bin %> <%= command.id %> base --from-dir ./rootfs --json',
  ];
  static override args = {
    name: Args.string({ description: 'Name that spawns use.', required: true }),
  };
  static override flags = {
    config: configFlag,
    'from-container': Flags.string({
      description: 'Image of the container engine in providers.container.',
      exclusive: ['from-tar', 'from-dir'],
      helpValue: '<image>',
    }),
    'from-tar': Flags.string({
      description: 'Tar file of a root file system, plain or compressed; - is standard input.',
      exclusive: ['from-container', 'from-dir'],
      helpValue: '<file>',
    }),
    'from-dir': Flags.string({
      description: 'Folder with a root file system.',
      exclusive: ['from-container', 'from-tar'],
      helpValue: '<folder>',
    }),
    size: Flags.string({
      description: 'Size of the image, such as 2GiB; defaults to the smallest that fits.',
      helpValue: '<size>',
    }),
  };

  async run() {
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
