// svc config init
import { Flags } from '@oclif/core';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { writeNew } from '../../src/cli/write-new.ts';
import { sampleConfig } from '../../src/docs/sample-config.ts';

export default class ConfigInit extends SvcCommand<{ file: string }> {
  static override summary = 'Write a configuration file with every key at its default, explained.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --output /etc/svc/svc.yaml',
  ];
  static override flags = {
    output: Flags.string({ description: 'File to write.', default: 'svc.yaml', helpValue: '<file>' }),
    force: Flags.boolean({ description: 'Overwrite an existing file.' }),
  };

  async run(): Promise<{ file: string }> {
    const { flags } = await this.parse(ConfigInit);
    writeNew(flags.output, sampleConfig(), flags.force);
    this.log(`${flags.output} written`);
    return { file: flags.output };
  }
}
