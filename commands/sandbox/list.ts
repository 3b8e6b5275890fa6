// svc sandbox list
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { clientFlags } from '../../src/cli/connection.ts';
import { interruptible } from '../../src/cli/interruption.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { localTable } from '../../src/cli/local-sandbox-view.ts';
import { sandboxTable } from '../../src/cli/sandbox-view.ts';
import { pairs } from '../../src/cli/spawn-flags.ts';
import type { LocalReport } from '../../src/schema/local-sandbox.ts';
import { SANDBOX_STATES } from '../../src/schema/sandbox-states.ts';

export default class SandboxList extends ClientCommand {
  static override summary = 'List sandboxes, newest first.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --state running --metadata purpose=ci',
    '<%= config.bin %> <%= command.id %> --all --json',
    '<%= config.bin %> <%= command.id %> --local',
  ];
  static override flags = {
    ...clientFlags,
    state: Flags.option({ description: 'Only sandboxes in this state.', options: SANDBOX_STATES })(),
    owner: Flags.string({ description: 'Only sandboxes of this owner.' }),
    provider: Flags.string({ description: 'Only sandboxes of this provider.' }),
    template: Flags.string({ description: 'Only sandboxes of this template.' }),
    worker: Flags.string({ description: 'Only sandboxes on this worker; local is the server itself.' }),
    metadata: Flags.string({
      description: 'Only sandboxes with this label, KEY=VALUE; repeatable.',
      multiple: true,
    }),
    all: Flags.boolean({
      description: 'Include ended sandboxes that the server still remembers.',
      char: 'a',
    }),
    limit: Flags.integer({ description: 'Maximum number of sandboxes.', min: 1, default: 1000 }),
    local: Flags.boolean({
      description: 'What is left on this machine while no server runs; ignores the other filters.',
    }),
    config: configFlag,
  };

  async run() {
    const { flags } = await this.parse(SandboxList);
    if (flags.local) return this.#local(flags.config);
    const labels = Object.entries(pairs(flags.metadata ?? [], '--metadata'));
    return this.show(
      await this.connect(flags).listAll(
        {
          ...(flags.state && { state: flags.state }),
          ...(flags.owner && { owner_id: flags.owner }),
          ...(flags.provider && { provider: flags.provider }),
          ...(flags.template && { template: flags.template }),
          ...(flags.worker && { worker_id: flags.worker }),
          ...(flags.all && { include_ended: true }),
          ...Object.fromEntries(labels.map(([key, value]) => [`metadata.${key}`, value])),
        },
        flags.limit,
      ),
      (sandboxes) => sandboxTable(sandboxes, Date.now()),
    );
  }

  async #local(file: string | undefined) {
    // Loaded here, so that a list of the server's sandboxes starts without them.
    const [{ localSandboxes }, { listLocal }] = await Promise.all([
      import('../../src/app/local-sandboxes.ts'),
      import('../../src/ops/local-sandboxes.ts'),
    ]);
    const report = await interruptible<LocalReport | undefined>(
      (signal) => withLocalErrors(listLocal(localSandboxes(file), signal)),
      () => undefined,
    );
    return report && this.show(report, (left) => localTable(left, Date.now()));
  }
}
