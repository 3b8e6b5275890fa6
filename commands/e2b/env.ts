// svc e2b env
import { Flags } from '@oclif/core';
import { tlsHere } from '../../src/app/e2b-tls.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { type E2bVariables, e2bVariables, exportLines } from '../../src/cli/e2b-variables.ts';

export default class E2bEnv extends ClientCommand {
  static override summary = 'Print the variables for programs that use the SDKs of E2B.';
  static override description =
    'Programs that run with these variables use this server. The key is not printed: the shell reads it from SVC_API_KEY or the key file. With --tls they use e2b.listen of the configuration, by names; its authority is made where it is missing, so run this as the user of the server.';
  static override examples = [
    'eval "$(<%= config.bin %> <%= command.id %>)"',
    'eval "$(<%= config.bin %> <%= command.id %> --tls)"',
  ];
  static override flags = {
    ...ClientCommand.flags,
    tls: Flags.boolean({ description: 'Use the listener with TLS, by names.', default: false }),
    config: configFlag,
  };

  async run(): Promise<E2bVariables> {
    const { flags } = await this.parse(E2bEnv);
    const tls = flags.tls ? tlsHere(flags.config) : undefined;
    const found = e2bVariables(flags, process.env, tls);
    if (found.note !== undefined) this.warn(found.note);
    return this.show(found, exportLines);
  }
}
