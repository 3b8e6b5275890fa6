// svc quota set
import { Flags } from '@oclif/core';
import { ownerArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { egressPolicy, policyFlags } from '../../src/cli/egress-flags.ts';
import { checkFacts, quotaFacts } from '../../src/cli/quota-view.ts';

export default class QuotaSet extends ClientCommand {
  static override summary = 'Set the quota of an owner.';
  static override description = 'Replaces the quota. Omitted limits, 0 and 0s inherit the defaults.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ann --max-sandboxes 5 --max-ttl 2h --max-exec-timeout 5m',
    '<%= config.bin %> <%= command.id %> ann --max-sandboxes 5 --dry-run',
  ];
  static override args = ownerArg;
  static override flags = {
    ...ClientCommand.flags,
    'max-sandboxes': Flags.integer({ description: 'Maximum number of active sandboxes.', min: 0 }),
    'max-ttl': Flags.string({ description: 'Maximum TTL of a sandbox, for example 2h.' }),
    'max-exec-timeout': Flags.string({ description: 'Maximum timeout of a command, for example 5m.' }),
    'dry-run': Flags.boolean({ description: 'Show what would change, and change nothing.' }),
    ...policyFlags,
  };

  async run() {
    const { args, flags } = await this.parse(QuotaSet);
    const limits = {
      max_sandboxes: flags['max-sandboxes'],
      max_ttl: flags['max-ttl'],
      max_exec_timeout: flags['max-exec-timeout'],
      egress: egressPolicy(flags),
    };
    const request = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
    const { quotas } = this.connect(flags);
    if (flags['dry-run']) return this.show(await quotas.check(args.owner, request), checkFacts);
    return this.show(await quotas.set(args.owner, request), quotaFacts);
  }
}
