// svc sandbox admission
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { admissionFacts } from '../../src/cli/quota-view.ts';
import { spawnFlags, spawnRequest, strictFlag, templateFlag } from '../../src/cli/spawn-flags.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { ERROR_TABLE } from '../../src/domain/errors.ts';
import type { AdmissionDecision } from '../../src/schema/admission.ts';

export default class SandboxAdmission extends SvcCommand<AdmissionDecision> {
  static override summary = 'Check whether a sandbox could be spawned now, without creating it.';
  static override description = `Exits with ${ERROR_TABLE.resource_limit.exit} when it could not.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --user ann --ttl 2h --json',
  ];
  static override flags = { ...clientFlags, ...spawnFlags, template: templateFlag, strict: strictFlag };

  async run(): Promise<AdmissionDecision> {
    const { flags } = await this.parse(SandboxAdmission);
    const decision = await connect(flags).admission(spawnRequest(flags));
    this.log(admissionFacts(decision));
    if (!decision.allowed) process.exitCode = ERROR_TABLE.resource_limit.exit;
    return decision;
  }
}
