// svc sandbox create
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { sandboxFacts } from '../../src/cli/sandbox-view.ts';
import { pullFlag, spawnFlags, spawnRequest, strictFlag, templateFlag } from '../../src/cli/spawn-flags.ts';

export default class SandboxCreate extends ClientCommand {
  static override summary = 'Spawn a sandbox.';
  static override description =
    'Returns when the sandbox is running. The sandbox ends when its TTL expires, or by `svc sandbox destroy`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --ttl 1h30m --memory 1024 --metadata purpose=ci',
    '<%= config.bin %> <%= command.id %> --template python --ttl 10m',
    'id=$(<%= config.bin %> <%= command.id %> --json | jq -r .id)',
  ];
  static override flags = {
    ...ClientCommand.flags,
    ...spawnFlags,
    template: templateFlag,
    pull: pullFlag,
    strict: strictFlag,
    'idempotency-key': Flags.string({
      description: 'Repeating the command with the same key returns the same sandbox for 24 h.',
    }),
  };

  async run() {
    const { flags } = await this.parse(SandboxCreate);
    const key = flags['idempotency-key'];
    const sandbox = await this.connect(flags).spawn(
      spawnRequest(flags),
      key === undefined ? {} : { idempotencyKey: key },
    );
    for (const warning of sandbox.warnings ?? []) this.warn(warning);
    this.log(sandboxFacts({ ...sandbox, warnings: [] }));
    return sandbox;
  }
}
