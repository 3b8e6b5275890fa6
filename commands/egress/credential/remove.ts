// svc egress credential remove
import { ClientCommand } from '../../../src/cli/client-command.ts';
import { credentialArg } from '../../../src/cli/credential-view.ts';
import { line } from '../../../src/cli/print.ts';

export default class EgressCredentialRemove extends ClientCommand {
  static override summary = 'Remove a credential that the server adds to requests of sandboxes.';
  static override description = 'No request gets it afterwards. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> openai'];
  static override args = credentialArg;

  async run(): Promise<{ name: string; status: string }> {
    const { args, flags } = await this.parse(EgressCredentialRemove);
    await this.connect(flags).credentials.remove(args.name);
    return this.show({ name: args.name, status: 'deleted' }, ({ name }) => line`Removed credential ${name}.`);
  }
}
