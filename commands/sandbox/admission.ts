// svc sandbox admission
import { ClientCommand } from '../../src/cli/client-command.ts';
import { admissionFacts } from '../../src/cli/quota-view.ts';
import { pullFlag, spawnFlags, spawnRequest, strictFlag, templateFlag } from '../../src/cli/spawn-flags.ts';
import { ERROR_TABLE } from '../../src/domain/errors.ts';

export default class SandboxAdmission extends ClientCommand {
  static override summary = 'Check whether a sandbox could be spawned now, without creating it.';
  static override description = `Exits with ${ERROR_TABLE.resource_limit.exit} when it could not.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --user ann --ttl 2h --json',
  ];
  static override flags = {
    ...ClientCommand.flags,
    ...spawnFlags,
    template: templateFlag,
    pull: pullFlag,
    strict: strictFlag,
  };

  async run() {
    const { flags } = await this.parse(SandboxAdmission);
    const decision = await this.connect(flags).admission(spawnRequest(flags));
    this.log(admissionFacts(decision));
    if (!decision.allowed) process.exitCode = ERROR_TABLE.resource_limit.exit;
    return decision;
  }
}
