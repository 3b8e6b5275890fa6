// svc sandbox cp

import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { copy, interruptedText, reported, reportText } from '../../src/cli/copy/copy.ts';
import { interruptible } from '../../src/cli/interruption.ts';
import { print } from '../../src/cli/print.ts';
import { countedOn, progressOn } from '../../src/cli/progress.ts';

export default class SandboxCp extends ClientCommand {
  static override summary = 'Copy files and folders into, out of or between sandboxes.';
  static override description =
    'Write a path in a sandbox as ID:PATH; a relative PATH starts in /workspace. Folders are copied recursively, with modes, times of files and links, as one stream that continues after a lost connection. Out of a sandbox it continues within a large file; into a sandbox it begins such a file again. If DST is an existing folder, the source is copied into it under its own name, or only its content when SRC ends in /. (slash, dot). - is standard input or output. Copying out never writes outside DST: links that lead out of it are skipped, and set-id bits are dropped. Skipped files are listed. Failed files are listed, and the rest is copied.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> src sb-0123456789ab:/workspace',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab:out/report.html .',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab:logs/. ./logs-of-today',
    'tar c src | <%= config.bin %> <%= command.id %> - sb-0123456789ab:src.tar',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab:data sb-ba9876543210:data',
  ];
  static override args = {
    src: Args.string({ description: 'Source.', required: true }),
    dst: Args.string({ description: 'Destination.', required: true }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxCp);
    const ends = { from: args.src, to: args.dst };
    const started = Date.now();
    const progress = countedOn(
      progressOn(this.jsonEnabled() ? { write: () => {} } : process.stderr, Date.now),
    );
    const tally = await interruptible(
      (signal) => copy(this.connect(flags), ends, { progress, signal }),
      () => undefined,
    ).finally(progress.end);
    if (!tally) {
      this.logToStderr(interruptedText(ends, progress.most()));
      return { ...this.interrupted(), bytes: progress.most() };
    }
    const report = reported(ends, tally, Date.now() - started);
    if (!this.jsonEnabled()) print(reportText(report), process.stderr);
    return report;
  }
}
