// svc sandbox extend
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';

export default class SandboxExtend extends ClientCommand {
  static override summary = 'Extend the TTL of a sandbox.';
  static override description =
    'Sets the end to now + --ttl, but never earlier than before unless --exact is given. Succeeds once the sandbox itself has confirmed its new end.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --ttl 2h',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --ttl 1m --exact',
  ];
  static override args = { id: idArg };
  static override flags = {
    ...ClientCommand.flags,
    ttl: Flags.string({ description: 'TTL from now, for example 30m.', required: true }),
    exact: Flags.boolean({ description: 'Also move the end earlier.' }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxExtend);
    const sandbox = await this.connect(flags).extend(args.id, flags.ttl, flags.exact ? { exact: true } : {});
    this.log(line`${sandbox.id} expires at ${sandbox.expires_at}`);
    return sandbox;
  }
}
