// svc egress credential set
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../../src/cli/client-command.ts';
import { credentialArg, credentialFacts } from '../../../src/cli/credential-view.ts';
import { readValue } from '../../../src/cli/secret-value.ts';
import { defined } from '../../../src/domain/defined.ts';
import { CREDENTIAL_METHODS, type Credential } from '../../../src/schema/credential.ts';

export default class EgressCredentialSet extends ClientCommand {
  static override summary = 'Set a credential that the server adds to requests of sandboxes.';
  static override description =
    'Reads the value from a file or from standard input, never from an argument. The value cannot be read back. Without --owner nobody may use the credential. Needs the admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> openai --host api.openai.com --format "Bearer {value}" --owner ann --value-file KEY',
    'pass show github | <%= config.bin %> <%= command.id %> github --host github.com --basic-user x-access-token --owner "*"',
  ];
  static override args = credentialArg;
  static override flags = {
    ...ClientCommand.flags,
    host: Flags.string({
      description: 'Host that gets the credential: name, *.name or name:port; repeatable, a name first.',
      multiple: true,
      required: true,
    }),
    'value-file': Flags.string({
      description: 'File with the value; - or no flag reads standard input.',
      helpValue: '<path>',
    }),
    header: Flags.string({ description: 'Header to set; authorization by default.' }),
    format: Flags.string({ description: 'Text of the header with {value} in it, such as "Bearer {value}".' }),
    'basic-user': Flags.string({
      description: 'User of HTTP Basic authentication; the value is the password.',
    }),
    owner: Flags.string({
      description: 'Owner whose sandboxes may use it, or *; repeatable.',
      multiple: true,
    }),
    method: Flags.option({
      description: 'Method that may use it; repeatable, all by default.',
      options: CREDENTIAL_METHODS,
      multiple: true,
    })(),
    'path-prefix': Flags.string({
      description: 'Path that may use it, with the paths below; repeatable, all by default.',
      multiple: true,
    }),
    env: Flags.string({ description: 'Variable that commands get with a placeholder.' }),
    'allow-http': Flags.boolean({ description: 'Also set the header on plain HTTP requests to the hosts.' }),
  };

  async run(): Promise<Credential> {
    const { args, flags } = await this.parse(EgressCredentialSet);
    const request = defined({
      hosts: flags.host,
      header: flags.header,
      format: flags.format,
      basic_user: flags['basic-user'],
      owners: flags.owner,
      methods: flags.method,
      path_prefixes: flags['path-prefix'],
      env: flags.env,
      allow_http: flags['allow-http'],
    });
    const value = await readValue(flags['value-file']);
    const set = await this.connect(flags).credentials.set(args.name, {
      ...request,
      hosts: flags.host,
      value,
    });
    return this.show(set, credentialFacts);
  }
}
