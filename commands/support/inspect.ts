// svc support inspect
import { Args } from '@oclif/core';
import { inspectionText } from '../../src/cli/bundle-view.ts';
import { localFailure } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { inspectBundle } from '../../src/ops/support/inspect.ts';

export default class SupportInspect extends SvcCommand {
  static override summary = 'Show the findings of a support bundle.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> support.json',
    '<%= config.bin %> <%= command.id %> support.json --json',
  ];
  static override args = {
    file: Args.string({ description: 'Bundle to read.', required: true }),
  };

  async run() {
    const { args } = await this.parse(SupportInspect);
    try {
      const report = inspectBundle(args.file);
      this.log(inspectionText(report));
      return report;
    } catch (error) {
      throw localFailure(error);
    }
  }
}
