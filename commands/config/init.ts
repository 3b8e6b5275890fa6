// svc config init
import { Flags } from '@oclif/core';
import { defaultFiles, productionFiles } from '../../src/app/first-config.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { writeAllNew } from '../../src/cli/write-new.ts';

export interface InitResult {
  file: string;
  /** Files with the keys that it names. */
  keys: string[];
}

export default class ConfigInit extends SvcCommand<InitResult> {
  static override summary = 'Write a configuration file with every key explained.';
  static override description =
    'Every key stands at its default. With --production authentication, limits and caps are set, and fresh keys are written to files beside it; the file passes `svc config lint --production --strict`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --output /etc/svc/svc.yaml',
    '<%= config.bin %> <%= command.id %> --production --output /etc/svc/svc.yaml --origin https://app.example.com',
  ];
  static override flags = {
    output: Flags.string({ description: 'File to write.', default: 'svc.yaml', helpValue: '<file>' }),
    production: Flags.boolean({ description: 'For a service that strangers can reach, with fresh keys.' }),
    origin: Flags.string({
      description: 'With --production: the origin of the pages that may call.',
      default: 'https://app.example.com',
      helpValue: '<url>',
    }),
    force: Flags.boolean({ description: 'Overwrite existing files; with --production this makes new keys.' }),
  };

  async run(): Promise<InitResult> {
    const { flags } = await this.parse(ConfigInit);
    const files = flags.production ? productionFiles(flags.output, flags.origin) : defaultFiles(flags.output);
    writeAllNew(files, flags.force);
    for (const { path } of files) this.log(line`${path} written`);
    return {
      file: flags.output,
      keys: files.map(({ path }) => path).filter((path) => path !== flags.output),
    };
  }
}
