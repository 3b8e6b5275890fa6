// svc config init
import { Flags } from '@oclif/core';
import { defaultFiles, productionFiles } from '../../src/app/first-config.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { writeAllNew } from '../../src/cli/write-new.ts';

export interface InitResult {
  file: string;
  /** Files with the API keys that the configuration names. */
  keys: string[];
}

export default class ConfigInit extends SvcCommand {
  static override summary = 'Write a configuration file with every key explained.';
  static override description =
    'Every key has its default value. With --production the file sets authentication, limits and caps, passes `svc config lint --production --strict`, and new API keys are written to files beside it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --output /etc/svc/svc.yaml',
    '<%= config.bin %> <%= command.id %> --fleet --output /etc/svc/svc.yaml',
    '<%= config.bin %> <%= command.id %> --production --output /etc/svc/svc.yaml --origin https://app.example.com',
  ];
  static override flags = {
    output: Flags.string({ description: 'File to write.', default: 'svc.yaml', helpValue: '<file>' }),
    production: Flags.boolean({ description: 'Write a production configuration with new API keys.' }),
    fleet: Flags.boolean({
      description:
        'Write the configuration of a server over PostgreSQL, which may be one of several; workers run its sandboxes.',
    }),
    origin: Flags.string({
      description: 'With --production: origin of the web pages that may call the API.',
      default: 'https://app.example.com',
      helpValue: '<url>',
    }),
    force: Flags.boolean({
      description: 'Overwrite existing files; with --production this creates new API keys.',
    }),
  };

  async run() {
    const { flags } = await this.parse(ConfigInit);
    const files = flags.production
      ? productionFiles(flags.output, flags.origin, flags.fleet)
      : defaultFiles(flags.output, flags.fleet);
    writeAllNew(files, flags.force);
    for (const { path } of files) this.log(line`${path} written`);
    return {
      file: flags.output,
      keys: files.map(({ path }) => path).filter((path) => path !== flags.output),
    };
  }
}
