// svc image import
import { Args, Flags } from '@oclif/core';
import { imageStoreHere, savedHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, importAt, type ServerFlags, serverImages } from '../../src/cli/image-server.ts';
import { imagesText, STAGE_WORDS, storedByServerText } from '../../src/cli/image-view.ts';
import { OperatorCommand, type Watch } from '../../src/cli/operator-command.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { importHere } from '../../src/ops/image/stored.ts';
import type { Image } from '../../src/schema/image.ts';
import type { ImagesStored } from '../../src/schema/image-calls.ts';

export default class ImageImport extends OperatorCommand {
  static override summary = 'Import images from a file, for userspace sandboxes.';
  static override description =
    'Adds images to the image store of this machine (images.path); no container engine is needed. FILE is the output of `docker save`, an OCI layout as a tar file or a folder, or a tar file of a root file system; plain, or compressed with gzip or zstd. The command recognizes the kind by its content. Device files are skipped. Layers that the store has already are not read again. An existing image of the same name is replaced when the new one is complete; running sandboxes keep the old one. With --server the archive is sent to a server; a folder must be packed first.';
  static override examples = [
    'docker save python:3.12-slim | <%= config.bin %> <%= command.id %> -',
    '<%= config.bin %> <%= command.id %> --from-engine python:3.12-slim',
    '<%= config.bin %> <%= command.id %> layout.tar --name team/tool:1',
    '<%= config.bin %> <%= command.id %> rootfs.tar.gz --name base --json',
  ];
  static override args = {
    file: Args.string({ description: 'Tar file or folder; - is standard input.' }),
  };
  static override flags = {
    config: configFlag,
    ...imageServerFlags,
    'from-engine': Flags.string({
      description: 'Image of the container engine in providers.container, instead of FILE.',
      helpValue: '<image>',
    }),
    name: Flags.string({
      description: 'Name that spawns use, instead of the names in the file.',
      helpValue: '<name>',
    }),
  };

  async run() {
    const { args, flags } = await this.parse(ImageImport);
    const { name, config, 'from-engine': reference } = flags;
    const { file } = args;
    if ((file === undefined) === (reference === undefined)) throw oneSource();
    const put = await this.#putter(flags);
    const images = await this.watched(STAGE_WORDS, (watch) =>
      reference === undefined
        ? put({ source: file as string, name }, watch)
        : savedHere(config, reference, (source) => put({ source, name }, watch), watch.signal),
    );
    if (!images) return this.interrupted();
    return this.show(images, (all) => (Array.isArray(all) ? imagesText(all) : storedByServerText(all)));
  }

  /** Puts images into the store of a server or of this machine. */
  async #putter(flags: ServerFlags & { config?: string | undefined }): Promise<Putter> {
    const server = await serverImages(flags);
    if (server) return (order, watch) => importAt(server, order, watch);
    const store = await imageStoreHere(flags.config);
    return (order, watch) => importHere(store, { ...order, ...watch });
  }
}

type Putter = (order: Source, watch: Watch) => Promise<Image[] | ImagesStored>;

interface Source {
  source: string | AsyncIterable<Buffer>;
  name: string | undefined;
}

function oneSource(): ServiceError {
  return new ServiceError('bad_request', 'An import has exactly one source.', {
    remedy: 'Name a file, a folder or -, or an image with --from-engine.',
  });
}
