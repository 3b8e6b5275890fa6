// svc mcp
import { Flags } from '@oclif/core';
import { mcpHere } from '../src/app/mcp.ts';
import { clientFlags, connect } from '../src/cli/connection.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';
import { PROFILES } from '../src/mcp/profiles.ts';

export default class Mcp extends SvcCommand {
  static override enableJsonFlag = false;
  static override summary = 'Serve MCP on standard input and output, for an agent.';
  static override description =
    'Hosts of MCP start this command. Its tools call the server with the key of SVC_API_KEY or the key file. Calls that name no sandbox share one, which is created at first use. Sandboxes that the session created are destroyed at its end: when the host closes standard input, or on SIGTERM. The profile operate has tools for operators, which change nothing; it needs an admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --server http://10.0.0.5:7423 --api-key-file ~/.svc/agent.key',
    '<%= config.bin %> <%= command.id %> --profile operate',
  ];
  static override flags = {
    ...clientFlags,
    profile: Flags.option({
      description: 'use: create and use sandboxes; operate: look at the service.',
      options: PROFILES,
      default: 'use' as const,
    })(),
    keep: Flags.boolean({
      description: 'Leave the sandboxes of the session until they expire.',
      default: false,
    }),
  };

  async run() {
    const { flags } = await this.parse(Mcp);
    await mcpHere(connect(flags), { ...flags, version: this.config.version });
  }
}
