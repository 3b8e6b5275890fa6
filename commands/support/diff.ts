// svc support diff
import { Args } from '@oclif/core';
import { differenceText } from '../../src/cli/bundle-view.ts';
import { localFailure } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { diffBundles } from '../../src/ops/support/diff.ts';

export default class SupportDiff extends SvcCommand {
  static override summary = 'Compare two support bundles.';
  static override description =
    'Lists differences by path. Ignores timestamps, counters of a running server, and pseudonyms, which each bundle numbers on its own.';
  static override examples = ['<%= config.bin %> <%= command.id %> before.json after.json'];
  static override args = {
    before: Args.string({ description: 'Earlier bundle.', required: true }),
    after: Args.string({ description: 'Later bundle.', required: true }),
  };

  async run() {
    const { args } = await this.parse(SupportDiff);
    try {
      const report = diffBundles(args.before, args.after);
      this.log(differenceText(report));
      return report;
    } catch (error) {
      throw localFailure(error);
    }
  }
}
