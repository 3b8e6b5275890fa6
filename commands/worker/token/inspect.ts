// svc worker token inspect
import { Args } from '@oclif/core';
import { SvcCommand } from '../../../src/cli/svc-command.ts';
import { inspectedText, tokenGiven } from '../../../src/cli/worker-token-view.ts';
import { inspectWorkerToken } from '../../../src/ops/worker-tokens.ts';

export default class WorkerTokenInspect extends SvcCommand {
  static override summary = 'Show the content of a signed worker token.';
  static override description =
    'Needs no key and does not check the signature; see `svc worker token verify`.';
  static override examples = ['<%= config.bin %> <%= command.id %> - < token'];
  static override args = {
    token: Args.string({ description: 'Token; - reads it from standard input.', required: true }),
  };

  async run() {
    const { args } = await this.parse(WorkerTokenInspect);
    const token = inspectWorkerToken(await tokenGiven(args.token));
    this.log(inspectedText(token));
    return token;
  }
}
