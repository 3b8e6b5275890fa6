// svc provider test
import { Args, Flags } from '@oclif/core';
import { conformanceHere } from '../../src/app/conformance.ts';
import { runChecks } from '../../src/cli/check-progress.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { doctorText } from '../../src/cli/doctor-view.ts';
import { INTERRUPTED, interruptible } from '../../src/cli/interruption.ts';
import { providerTestTable } from '../../src/cli/provider-view.ts';
import type { DoctorReport } from '../../src/schema/doctor.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class ProviderTest extends ClientCommand {
  static override summary = 'Check the health of all providers, or a custom backend against its contract.';
  static override description =
    `Exits with ${FOUND} when a provider is not healthy. Needs the admin key where one is configured; pass it as the API key. With --conformance it tests the configured backend directly, without a server, against every rule of docs/custom-provider.md. It destroys the sandboxes that it creates.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> custom --conformance',
  ];
  static override args = {
    name: Args.string({ description: 'Provider to test with --conformance.', options: ['custom'] }),
  };
  static override flags = {
    ...ClientCommand.flags,
    config: configFlag,
    conformance: Flags.boolean({ description: 'Check the backend against its contract.', default: false }),
  };

  async run() {
    const { args, flags } = await this.parse(ProviderTest);
    if (flags.conformance !== (args.name !== undefined))
      this.error('Name a provider together with --conformance, and only then.', { exit: 2 });
    if (flags.conformance) return this.#conformance(flags.config);
    const tests = await this.connect(flags).admin.testProviders();
    this.log(providerTestTable(tests));
    if (Object.values(tests).some(({ healthy }) => !healthy)) process.exitCode = FOUND;
    return tests;
  }

  /** An interruption ends the running check and destroys its sandboxes; the report covers the checks so far. */
  async #conformance(file: string | undefined): Promise<DoctorReport> {
    const report = await interruptible(
      async (signal) => {
        const plan = conformanceHere(file, signal);
        await runChecks(plan.groups, process.stdout.isTTY === true && !this.jsonEnabled());
        if (signal.aborted) process.exitCode = INTERRUPTED;
        return plan.finish();
      },
      () => process.exit(INTERRUPTED),
    );
    this.log(doctorText(report));
    if (report.verdict === 'fail') process.exitCode ??= FOUND;
    return report;
  }
}
