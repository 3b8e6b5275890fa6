// svc worker token verify
import { Args, Flags } from '@oclif/core';
import { configFlag } from '../../../src/cli/config-flag.ts';
import { SvcCommand } from '../../../src/cli/svc-command.ts';
import { tokenGiven, verdictText } from '../../../src/cli/worker-token-view.ts';
import { WORKER_AUDIENCES } from '../../../src/domain/worker-token.ts';
import { verifyWorkerToken } from '../../../src/ops/worker-tokens.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class WorkerTokenVerify extends SvcCommand {
  static override summary = 'Check a worker token against this configuration.';
  static override description =
    `Accepts a signed token, or with --id the secret of a worker. Exits with ${FOUND} and prints the reason when the token is not valid.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> - < token',
    '<%= config.bin %> <%= command.id %> - --id edge-1 < /etc/svc/worker-token',
  ];
  static override args = {
    token: Args.string({ description: 'Token; - reads it from standard input.', required: true }),
  };
  static override flags = {
    config: configFlag,
    id: Flags.string({ description: 'Worker that presents the token; defaults to the worker in the token.' }),
    audience: Flags.option({
      description: 'Expected audience.',
      options: WORKER_AUDIENCES,
      default: 'worker:control-plane' as const,
    })(),
  };

  async run() {
    const { args, flags } = await this.parse(WorkerTokenVerify);
    const text = await tokenGiven(args.token);
    const verdict = verifyWorkerToken({ ...flags, id: flags.id, text, file: flags.config });
    this.log(verdictText(verdict));
    if (!verdict.ok) process.exitCode = FOUND;
    return verdict;
  }
}
