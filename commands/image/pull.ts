// svc image pull
import { Args, Flags } from '@oclif/core';
import { imagePullsHere } from '../../src/app/images.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { imageServerFlags, pullAt, type ServerImages, serverImages } from '../../src/cli/image-server.ts';
import { pulledByServerText, pulledText, STAGE_WORDS } from '../../src/cli/image-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { pullHere } from '../../src/ops/image/pulled.ts';

export default class ImagePull extends OperatorCommand {
  static override summary = 'Pull an image from a registry, for userspace sandboxes.';
  static override description =
    'Adds an image to the image store of this machine (images.path); no container engine is needed. Only registries in images.registries are contacted. A tag that leads to the same image as before, and a digest that the store has, fetch nothing. Layers that the store has are not fetched again, and an interrupted pull continues where it ended. images.docker_config names a file with credentials. With --server the server and its workers pull, each into its own store; a pull continues there when this command ends.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> python:3.12-slim',
    '<%= config.bin %> <%= command.id %> ghcr.io/acme/tool:1 --json',
    '<%= config.bin %> <%= command.id %> node:22 --platform linux/arm64',
    '<%= config.bin %> <%= command.id %> python:3.12-slim --server http://127.0.0.1:7423',
  ];
  static override args = {
    name: Args.string({
      description: 'Image name: [registry/]path[:tag][@digest]; docker.io and latest are the defaults.',
      required: true,
    }),
  };
  static override flags = {
    config: configFlag,
    ...imageServerFlags,
    platform: Flags.string({
      description: 'Platform to pull, such as linux/arm64; defaults to that of this machine.',
      helpValue: '<platform>',
    }),
  };

  async run() {
    const { args, flags } = await this.parse(ImagePull);
    const server = await serverImages(flags);
    if (server) return this.#pullAt(server, { image: args.name, platform: flags.platform });
    const deps = await imagePullsHere(flags.config);
    const order = { image: args.name, platform: flags.platform };
    const pulled = await this.watched(STAGE_WORDS, (watch) => pullHere(deps, { ...order, ...watch }));
    if (!pulled) return this.interrupted();
    return this.show(pulled, pulledText);
  }

  async #pullAt(server: ServerImages, order: { image: string; platform: string | undefined }) {
    const pulled = await this.watched(STAGE_WORDS, (watch) => pullAt(server, order, watch));
    if (!pulled) return this.interrupted();
    return this.show(pulled, pulledByServerText);
  }
}
