// svc worker token create
import { Args, Flags } from '@oclif/core';
import { configFlag } from '../../../src/cli/config-flag.ts';
import { line } from '../../../src/cli/print.ts';
import { SvcCommand } from '../../../src/cli/svc-command.ts';
import { WORKER_AUDIENCES } from '../../../src/domain/worker-token.ts';
import { createWorkerToken } from '../../../src/ops/worker-tokens.ts';

export default class WorkerTokenCreate extends SvcCommand {
  static override summary = 'Print the secret of a worker, or a short-lived token.';
  static override description =
    "Run it on the host of the server, with its configuration. The secret is the worker's entry in auth.worker_tokens, otherwise one derived from auth.worker_signing_key and its id, otherwise the shared auth.worker_token. Give it to the worker as auth.worker_token_file. With --signed it prints a token with a limited lifetime, which is valid for heartbeats only.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> edge-1 > /etc/svc/worker-token',
    '<%= config.bin %> <%= command.id %> edge-1 --signed 5m',
  ];
  static override args = { id: Args.string({ description: 'Worker id.', required: true }) };
  static override flags = {
    config: configFlag,
    signed: Flags.string({
      description: 'Print a signed token with this lifetime, at most 15m.',
      helpValue: '<duration>',
    }),
    audience: Flags.option({
      description: 'Audience of the token.',
      options: WORKER_AUDIENCES,
      default: 'worker:control-plane' as const,
    })(),
  };

  async run() {
    const { args, flags } = await this.parse(WorkerTokenCreate);
    const token = createWorkerToken({ ...flags, id: args.id, file: flags.config });
    this.log(line`${token}`);
    return { worker_id: args.id, token };
  }
}
