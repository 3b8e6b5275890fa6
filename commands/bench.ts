// svc bench
import { Flags } from '@oclif/core';
import { readBefore } from '../bench/compare.ts';
import { benchSummary, type Listed, listText, type Results, rowText } from '../bench/report.ts';
import { bench, isGood, listed } from '../bench/run.ts';
import { interruptible } from '../src/cli/interruption.ts';
import { print } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';

/** A check ran and found failures. */
const MISSED = 3;

export default class Bench extends SvcCommand {
  static override summary = 'Measure how fast the service is on this machine.';
  static override description =
    `Starts its own servers on free ports and in a temporary folder. Measures each row of the speed table beside a bare baseline and compares the ratio of their medians, because machines differ. Skips rows that this machine cannot run and prints the reason. All rows take about half an hour on an otherwise idle machine. Exits with ${MISSED} when a row misses its bar or cannot be measured because something broke.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --list',
    '<%= config.bin %> <%= command.id %> --only P12,P28',
    '<%= config.bin %> <%= command.id %> --json > today.json',
    '<%= config.bin %> <%= command.id %> --compare today.json',
  ];
  static override flags = {
    only: Flags.string({
      description: 'Rows to measure, separated by commas; P28 selects every row that starts with P28-.',
      helpValue: '<rows>',
    }),
    list: Flags.boolean({ description: 'List the rows and what this machine lacks for them.' }),
    compare: Flags.string({
      description: 'Show the figures of an earlier run beside the new ones; a file made with --json.',
      helpValue: '<file>',
    }),
  };

  async run() {
    const { flags } = await this.parse(Bench);
    if (flags.list) return this.#list();
    const results = await interruptible<Results | undefined>(
      (signal) => this.#measure(flags, signal),
      () => undefined,
    );
    if (!results) return this.interrupted();
    this.log(benchSummary(results));
    if (!isGood(results)) process.exitCode ??= MISSED;
    return results;
  }

  #measure(
    { only, compare }: { only?: string | undefined; compare?: string | undefined },
    signal: AbortSignal,
  ): Promise<Results> {
    return bench({
      only: only?.split(',').map((name) => name.trim()),
      before: compare === undefined ? undefined : readBefore(compare),
      signal,
      started: ({ id, name }) => print(`${id} ${name} …`, process.stderr),
      ended: (row) => this.log(rowText(row)),
    });
  }

  #list(): Listed[] {
    const groups = listed();
    this.log(listText(groups));
    return groups;
  }
}
