// svc e2b env
import { ClientCommand } from '../../src/cli/client-command.ts';
import { type E2bVariables, e2bVariables, exportLines } from '../../src/cli/e2b-variables.ts';

export default class E2bEnv extends ClientCommand {
  static override summary = 'Print the variables for programs that use the SDKs of E2B.';
  static override description =
    'Programs that run with these variables use this server. The key is not printed: the shell reads it from SVC_API_KEY or the key file.';
  static override examples = ['eval "$(<%= config.bin %> <%= command.id %>)"'];

  async run(): Promise<E2bVariables> {
    const { flags } = await this.parse(E2bEnv);
    const found = e2bVariables(flags, process.env);
    if (found.note !== undefined) this.warn(found.note);
    return this.show(found, exportLines);
  }
}
