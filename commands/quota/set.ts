// svc quota set
import { Flags } from '@oclif/core';
import { ownerArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { quotaFacts } from '../../src/cli/quota-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Quota } from '../../src/schema/quota.ts';

export default class QuotaSet extends SvcCommand<Quota> {
  static override summary = 'Set the quota of an owner.';
  static override description = 'Replaces the quota. Omitted limits, 0 and 0s inherit the defaults.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ann --max-sandboxes 5 --max-ttl 2h --max-exec-timeout 5m',
  ];
  static override args = ownerArg;
  static override flags = {
    ...clientFlags,
    'max-sandboxes': Flags.integer({ description: 'Maximum number of active sandboxes.', min: 0 }),
    'max-ttl': Flags.string({ description: 'Maximum TTL of a sandbox, for example 2h.' }),
    'max-exec-timeout': Flags.string({ description: 'Maximum timeout of a command, for example 5m.' }),
  };

  async run(): Promise<Quota> {
    const { args, flags } = await this.parse(QuotaSet);
    const limits = {
      max_sandboxes: flags['max-sandboxes'],
      max_ttl: flags['max-ttl'],
      max_exec_timeout: flags['max-exec-timeout'],
    };
    const request = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
    const quota = await connect(flags).quotas.set(args.owner, request);
    this.log(quotaFacts(quota));
    return quota;
  }
}
