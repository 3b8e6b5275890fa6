// svc support bundle
import { Args, Flags } from '@oclif/core';
import { bundleSources } from '../../src/app/bundle-sources.ts';
import { bundleText, previewText } from '../../src/cli/bundle-view.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { configFlag } from '../../src/cli/flags.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { previewBundle, writeBundle } from '../../src/ops/support/bundle.ts';
import type { BundlePreview, BundleReport } from '../../src/schema/bundle.ts';

export default class SupportBundle extends SvcCommand<BundleReport | BundlePreview> {
  static override summary = 'Write one file with what helps others to help, without secrets.';
  static override description =
    'Version, machine, configuration, lint, the database in numbers and its last events; with --include-server also what the server says of itself and its last log lines. Works without a server. Secrets are removed by the keys of the configuration, by their values in every form, and by their shapes; owners are renamed. The file says what was removed where, and the same value has the same pseudonym throughout. A section that fails is named, and the others are there. Read the file before you hand it on.';
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
    'include-doctor': Flags.boolean({ description: 'Examine this machine, too; see svc doctor.' }),
    'include-server': Flags.boolean({
      description: 'Ask the server, too; it wants the admin key where one is configured.',
    }),
    preview: Flags.boolean({ description: 'List what would be collected, and write nothing.' }),
    force: Flags.boolean({ description: 'Replace a file that is there.' }),
    ...clientFlags,
  };

  async run(): Promise<BundleReport | BundlePreview> {
    const { args, flags } = await this.parse(SupportBundle);
    const client = flags['include-server'] ? connect(flags) : undefined;
    const asked = { config: flags.config, doctor: flags['include-doctor'], client };
    const world = bundleSources({ ...asked, version: this.config.version });
    if (flags.preview) return this.#preview(previewBundle(world));
    if (args.output === undefined) throw nowhere();
    const report = await withLocalErrors(writeBundle({ output: args.output, force: flags.force }, world));
    this.log(bundleText(report));
    return report;
  }

  #preview(preview: BundlePreview): BundlePreview {
    this.log(previewText(preview));
    return preview;
  }
}

const nowhere = () =>
  new ServiceError('bad_request', 'There is no file to write to.', {
    remedy: 'Name one, or look at what would be collected with --preview.',
  });
