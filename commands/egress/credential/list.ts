// svc egress credential list
import { ClientCommand } from '../../../src/cli/client-command.ts';
import { credentialTable } from '../../../src/cli/credential-view.ts';
import type { Credential } from '../../../src/schema/credential.ts';

export default class EgressCredentialList extends ClientCommand {
  static override summary = 'List the credentials that the server adds to requests of sandboxes.';
  static override description = 'Values are not shown. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run(): Promise<Credential[]> {
    const { flags } = await this.parse(EgressCredentialList);
    return this.show(await this.connect(flags).credentials.list(), credentialTable);
  }
}
