// svc support bundle
import { Args, Flags } from '@oclif/core';
import { bundleSources } from '../../src/app/bundle-sources.ts';
import { bundleText, previewText } from '../../src/cli/bundle-view.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { previewBundle, writeBundle } from '../../src/ops/support/bundle.ts';
import type { BundlePreview } from '../../src/schema/bundle.ts';

export default class SupportBundle extends ClientCommand {
  static override summary = 'Write a redacted support bundle to a file.';
  static override description =
    'Collects the version, machine, configuration, lint findings, database statistics and latest events; with --include-server also the diagnostics and latest log lines of the server. Works without a server. Redacts secrets by configuration key, by value in every encoding, and by pattern, and replaces owner names. The file lists every redaction; the same value always gets the same pseudonym. If a section fails, the file says so and contains the others. Read the file before you share it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> support.json --config /etc/svc/svc.yaml',
    '<%= config.bin %> <%= command.id %> support.json --include-doctor --include-server --api-key-file /etc/svc/admin-key',
    '<%= config.bin %> <%= command.id %> --preview',
  ];
  static override args = {
    output: Args.string({ description: 'File to write.' }),
  };
  static override flags = {
    config: configFlag,
    'include-doctor': Flags.boolean({ description: 'Include the checks of `svc doctor`.' }),
    'include-server': Flags.boolean({
      description: 'Include data of the server; needs the admin key where one is configured.',
    }),
    preview: Flags.boolean({ description: 'List the sections without writing a file.' }),
    force: Flags.boolean({ description: 'Replace an existing file.' }),
    ...ClientCommand.flags,
  };

  async run() {
    const { args, flags } = await this.parse(SupportBundle);
    const client = flags['include-server'] ? this.connect(flags) : undefined;
    const options = { config: flags.config, doctor: flags['include-doctor'], client };
    const world = bundleSources({ ...options, version: this.config.version });
    if (flags.preview) return this.#preview(previewBundle(world));
    if (args.output === undefined)
      throw new ServiceError('bad_request', 'The output file is missing.', {
        remedy: 'Name a file, or list the sections with --preview.',
      });
    return this.show(
      await withLocalErrors(writeBundle({ output: args.output, force: flags.force }, world)),
      bundleText,
    );
  }

  #preview(preview: BundlePreview): BundlePreview {
    this.log(previewText(preview));
    return preview;
  }
}
