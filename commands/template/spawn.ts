// svc template spawn
import { Args, Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { sandboxFacts } from '../../src/cli/sandbox-view.ts';
import { pullFlag, spawnFlags, spawnRequest, strictFlag } from '../../src/cli/spawn-flags.ts';

const { image: _, ...overrides } = spawnFlags;

export default class TemplateSpawn extends ClientCommand {
  static override summary = 'Spawn a sandbox from a template.';
  static override description = 'Flags override the template; metadata and environment variables are merged.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> python',
    '<%= config.bin %> <%= command.id %> python --ttl 2h --metadata purpose=ci',
  ];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };
  static override flags = {
    ...ClientCommand.flags,
    ...overrides,
    pull: pullFlag,
    strict: strictFlag,
    'idempotency-key': Flags.string({
      description: 'Repeating the command with the same key returns the same sandbox for 24 h.',
    }),
  };

  async run() {
    const { args, flags } = await this.parse(TemplateSpawn);
    const key = flags['idempotency-key'];
    const options = key === undefined ? {} : { idempotencyKey: key };
    const sandbox = await this.connect(flags).templates.spawn(args.name, spawnRequest(flags), options);
    for (const warning of sandbox.warnings ?? []) this.warn(warning);
    this.log(sandboxFacts({ ...sandbox, warnings: [] }));
    return sandbox;
  }
}
